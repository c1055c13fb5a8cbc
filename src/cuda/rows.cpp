#include "cuda/rows.h"

#include <fmt/format.h>

#include "cuda/coordinates.h"
#include "cuda/finish.h"
#include "cuda/refuse.h"
#include "cuda/steps.h"
#include "cuda/work_text.h"
#include "graph/tile_rows.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {
namespace {

constexpr int kRowGroups = 2;  ///< of 128 threads

/// The text of one row, loop after loop.
class RowText {
 public:
  RowText(const Program& program, const Kernel& kernel, const TensorNumbers& tensors, int indent)
      : program_(program),
        kernel_(kernel),
        graph_(*kernel.graph),
        work_(program, *kernel.graph, tensors, indent + 2),
        indent_(indent + 2) {}

  std::string text() {
    std::string all = "[&](int row) {\n";
    all += coordinates_text(graph_, kernel_.row_dims, "", indent_);
    for (const TileLoop& loop : rows_shape(graph_).loops) {
      all += loop.index < 0 ? once(loop) : each(loop);
    }
    return all + std::string(static_cast<size_t>(indent_ - 2), ' ') + "}";
  }

 private:
  std::string space() const { return std::string(static_cast<size_t>(indent_), ' '); }
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }

  /// Nodes of (m) alone.
  std::string once(const TileLoop& loop) {
    std::string all;
    for (const NodeId id : loop.nodes) {
      if (node(id).kind == NodeKind::tile_store) {
        const std::string stored = store(id);
        all += work_.take() + space() + "if (core.lane() == 0) " + stored;
      } else {
        work_.value(node(id).outputs[0]);
      }
      all += work_.take();
    }
    return all;
  }

  /// Nodes of a width: lanes take its elements in turn.
  std::string each(const TileLoop& loop) {
    const int64_t elements = graph_.indices[static_cast<size_t>(loop.index)].elements();
    std::string before, body, after;
    const WorkText outside = work_;  // names that hold for the whole row
    work_.indent(indent_ + 2);
    std::vector<std::pair<StreamId, std::string>> reduced;
    for (const NodeId id : loop.nodes) {
      const Node& n = node(id);
      if (n.kind == NodeKind::tile_store) {
        const std::string stored = store(id);
        body += work_.take() + space() + "  " + stored;
      } else if (n.kind == NodeKind::reduce) {
        const std::string value = work_.value(n.inputs[0].stream);
        const std::string name = fmt::format("r_{}", n.outputs[0]);
        before += fmt::format("{}float {} = {};\n", space(), name, number_text(n.init));
        body += work_.take() + fmt::format("{}  {} = {};\n", space(), name,
                                           combined_text(n.reduction, name, value));
        after += fmt::format(
            "{0}{1} = ff::across_lanes(core, {1}, [](float x, float y) {{ return {2}; }});\n",
            space(), name, combined_text(n.reduction, "x", "y"));
        if (n.reduction == Reduction::mean) {
          after += fmt::format("{0}{1} = {1} / {2}.0F;\n", space(), name, elements);
        }
        reduced.emplace_back(n.outputs[0], name);
      } else {
        work_.value(n.outputs[0]);
        body += work_.take();
      }
    }
    work_ = outside;
    for (const auto& [stream, name] : reduced) work_.name(stream, name);
    return before +
           fmt::format(
               "{0}for (int column = core.lane(); column < {1}; column += Core::kLanes) {{\n"
               "{0}  [[maybe_unused]] const int at_{2} = column;\n",
               space(), elements, graph_.indices[static_cast<size_t>(loop.index)].name) +
           body + space() + "}\n" + after;
  }

  std::string store(NodeId id) {
    const std::string value = work_.value(node(id).inputs[0].stream);
    return work_.store(node(id), value);
  }

  const Program& program_;
  const Kernel& kernel_;
  const Graph& graph_;
  WorkText work_;
  int indent_;
};

}  // namespace

Kernel rows_kernel(const Program& program, const Graph& graph) {
  const RowsShape shape = rows_shape(graph);
  const RowsCluster cluster = rows_cluster(graph);
  if (cluster.wide > 1) throw Refused{"rows that are spread over cores are not generated yet"};
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_multiply) {
      throw Refused{"products in kernels of rows are not generated yet"};
    }
  }
  if (shape.stores.size() > 1) throw Refused{"kernels of rows with several results"};
  Kernel kernel;
  kernel.graph = &graph;
  kernel.groups = kRowGroups;
  kernel.cores = cluster.rows;
  const GraphIndex& m = graph.indices[kRowsM];
  const int64_t row_clusters = ceil_div(m.extent, kernel.cores);
  const int64_t batch = graph.indices[kRowsG].extent;
  kernel.clusters = row_clusters * batch;
  if (row_clusters > 1) kernel.variables.push_back({"m", "cluster", 1, row_clusters});
  if (batch > 1) kernel.variables.push_back({"g", "cluster", row_clusters, batch});
  if (kernel.cores > 1) kernel.variables.push_back({"core_m", "rank", 1, kernel.cores});
  const Coordinate tile = sum(times(coordinate(row_clusters > 1 ? "m" : ""), kernel.cores),
                              coordinate(kernel.cores > 1 ? "core_m" : ""));
  kernel.row_dims = {{kRowsM, times(tile, m.block), DimensionAt::TileAxis::row, m.block},
                     {kRowsG, coordinate(batch > 1 ? "g" : ""), DimensionAt::TileAxis::nothing, 1}};
  kernel.tile_rows = m.block;
  kernel.finish.element = result_element(program, graph, shape.stores[0], kernel.row_dims);
  kernel.multiply.push_back(step_of(StepKind::row_program));
  return kernel;
}

std::string row_program(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                        int indent) {
  return RowText(program, kernel, tensors, indent).text();
}

}  // namespace fuseflow::cuda
