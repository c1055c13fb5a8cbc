// The text of rows (rows.h): elementwise work and reductions of a row by the lanes of a warp.
#include <fmt/format.h>

#include <algorithm>

#include "chip/needs.h"
#include "cuda/launch_text.h"
#include "cuda/rows.h"
#include "cuda/rows_place.h"
#include "cuda/work_text.h"

namespace fuseflow::cuda {
namespace {

class RowText {
 public:
  RowText(const Program& program, const Kernel& kernel, const TensorNumbers& tensors, int indent)
      : kernel_(kernel),
        graph_(*kernel.graph),
        places_(graph_),
        work_(program, graph_, tensors, indent + 2),
        indent_(indent + 2) {}

  std::string whole_row() {
    std::string all = "[&](int row) {\n" + coordinates_text(kernel_, kernel_.row_dims, "", indent_);
    for (const TileLoop& loop : places_.shape().loops)
      all += loop.index < 0 ? once(loop) : every_column(loop);
    return all + end();
  }

  std::string loop(int number) {
    const TileLoop& loop = places_.shape().loops[static_cast<size_t>(number)];
    for (const auto& [stream, name] : places_.names(number)) work_.name(stream, name);
    if (loop.index < 0) {
      return "[&](int row) {\n" + coordinates_text(kernel_, kernel_.row_dims, "", indent_) +
             once(loop) + end();
    }
    return "[&](int row) {\n" + tile_columns(loop) + end();
  }

 private:
  std::string space() const { return std::string(static_cast<size_t>(indent_), ' '); }
  std::string end() const { return std::string(static_cast<size_t>(indent_ - 2), ' ') + "}"; }
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }
  const GraphIndex& index(int dim) const { return graph_.indices[static_cast<size_t>(dim)]; }

  /// Stores of (m) alone.
  std::string once(const TileLoop& loop) {
    std::string all;
    for (const NodeId id : loop.nodes) {
      if (node(id).kind != NodeKind::tile_store) continue;
      const std::string stored = store(id);
      all += work_.take() + space() + "if (core.lane() == 0) " + stored;
    }
    return all;
  }

  struct Reduced {
    NodeId node;
    std::string name;
  };
  /// What the columns of a loop give: stores, what stays in the scratchpad, what is added to
  /// reductions.
  std::string columns(const TileLoop& loop, std::vector<Reduced>& reduced) {
    std::string body;
    for (const NodeId id : loop.nodes) {
      const Node& n = node(id);
      if (n.kind == NodeKind::tile_store) {
        const std::string stored = store(id);
        body += work_.take() + space() + "  " + stored;
      } else if (n.kind == NodeKind::reduce) {
        const std::string value = work_.value(n.inputs[0].stream);
        const std::string name = fmt::format("r_{}", n.outputs[0]);
        body += work_.take() + fmt::format("{}  {} = {};\n", space(), name,
                                           combined_text(n.reduction, name, value));
        reduced.push_back({id, name});
      } else if (n.kind != NodeKind::gather && places_.core().on_core &&
                 places_.core().room_of[static_cast<size_t>(n.outputs[0])] >= 0) {
        const std::string value = work_.value(n.outputs[0]);
        body += work_.take() +
                fmt::format("{}  {}\n", space(), places_.put_element(n.outputs[0], value));
      }
    }
    return body;
  }

  std::string over_lanes(const Reduced& r) const {
    return fmt::format(
        "{0}{1} = ff::across_lanes(core, {1}, [](float x, float y) {{ return {2}; }});\n", space(),
        r.name, combined_text(node(r.node).reduction, "x", "y"));
  }

  std::string every_column(const TileLoop& loop) {
    const int64_t elements = index(loop.index).elements();
    const WorkText outside = work_;  // names that hold for the whole row
    work_.indent(indent_ + 2);
    std::vector<Reduced> reduced;
    const std::string body = columns(loop, reduced);
    work_ = outside;
    std::string before, after;
    for (const Reduced& r : reduced) {
      const Reduction reduction = node(r.node).reduction;
      const float init = node(r.node).init;
      before +=
          fmt::format("{}float {} = {};\n", space(), r.name, number_text(identity(reduction)));
      after += over_lanes(r);
      if (init != identity(reduction)) {
        after += fmt::format("{}{} = {};\n", space(), r.name,
                             combined_text(reduction, number_text(init), r.name));
      }
      if (reduction == Reduction::mean)
        after += fmt::format("{0}{1} = {1} / {2}.0F;\n", space(), r.name, elements);
      work_.name(node(r.node).outputs[0], r.name);
    }
    if (body.empty()) return "";
    return before +
           fmt::format(
               "{0}for (int column = core.lane(); column < {1}; column += Core::kLanes) {{\n"
               "{0}  [[maybe_unused]] const int at_{2} = column;\n",
               space(), elements, index(loop.index).name) +
           body + space() + "}\n" + after;
  }

  /// Columns of one tile. What stays in the scratchpad has zeros where the tile or the tensor ends.
  std::string tile_columns(const TileLoop& loop) {
    const GraphIndex& width = index(loop.index);
    work_.indent(indent_ + 2);
    std::vector<Reduced> reduced;
    const std::string body = columns(loop, reduced);
    std::string all, zeros, after;
    const DimensionAt& rows = kernel_.row_dims[0];
    all += fmt::format("{0}[[maybe_unused]] const int at_m = {1} + row;\n", space(),
                       text_of(rows.begin));
    all += coordinates_text(kernel_, {kernel_.row_dims[1]}, "", indent_);
    all += fmt::format("{}const bool there = row < {} && at_m < {};\n", space(), rows.block,
                       dim_text(kernel_, kRowsM, "params.rows"));
    for (const Reduced& r : reduced) {
      const auto [before, put] = state(r);
      all += before;
      after += over_lanes(r) + put;
    }
    for (const NodeId id : loop.nodes) {
      const Node& n = node(id);
      if (n.kind == NodeKind::gather || n.outputs.empty() ||
          places_.core().room_of[static_cast<size_t>(n.outputs[0])] < 0)
        continue;
      zeros += fmt::format("{}    {}\n", space(), places_.put_element(n.outputs[0], "0"));
    }
    all += fmt::format(
        "{0}for (int column = core.lane(); column < {1}; column += Core::kLanes) {{\n"
        "{0}  [[maybe_unused]] const int at_{2} = ({3}) * {4} + column;\n"
        "{0}  if (!there || column >= {4} || at_{2} >= {5}) {{\n{6}{0}    continue;\n{0}  }}\n",
        space(), chip::padded_block(graph_, loop.index), width.name,
        text_of(places_.tile_of(loop.index)), width.block, width.elements(), zeros);
    return all + body + space() + "}\n" + after;
  }

  /// What a reduction has of the tiles before, and where it goes.
  std::pair<std::string, std::string> state(const Reduced& r) const {
    const Node& n = node(r.node);
    const std::vector<StreamId>& all = places_.core().reduced;
    const auto number =
        static_cast<size_t>(std::find(all.begin(), all.end(), n.outputs[0]) - all.begin());
    const std::string at = places_.reduced(number, text_of(places_.column_core()));
    const std::string before = fmt::format(
        "{0}const float {1}_before = tile == 0 ? {2} : ff::get_own(core, {3});\n"
        "{0}float {1} = {4};\n",
        space(), r.name, number_text(n.init), at, number_text(identity(n.reduction)));
    const std::string put =
        fmt::format("{}if (core.lane() == 0) ff::put_one(core, {}, {});\n", space(), at,
                    combined_text(n.reduction, r.name + "_before", r.name));
    return {before, put};
  }

  std::string store(NodeId id) {
    const std::string value = work_.value(node(id).inputs[0].stream);
    return work_.store(node(id), value);
  }

  const Kernel& kernel_;
  const Graph& graph_;
  const RowsPlaces places_;
  WorkText work_;
  int indent_;
};

}  // namespace

std::string row_program(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                        int indent) {
  return RowText(program, kernel, tensors, indent).whole_row();
}

std::string row_loop(const Program& program, const Kernel& kernel, int loop,
                     const TensorNumbers& tensors, int indent) {
  return RowText(program, kernel, tensors, indent).loop(loop);
}

}  // namespace fuseflow::cuda
