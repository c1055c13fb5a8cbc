#include "cluster/report/kernel_json.h"

#include <algorithm>
#include <span>

#include "cluster/common/timings.h"
#include "cluster/report/plan_json.h"
#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "nodes/rule.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows_counts.h"

namespace fuseflow::cluster {
namespace {

std::string name_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].name;
}

/// A JSON array of what `of` gives for each element of a list.
template <typename List, typename Of>
Json list_json(const List& list, const Of& of) {
  std::vector<Json> all;
  for (const auto& each : list) all.push_back(of(each));
  return Json::array(std::move(all));
}

/// The dimensions of a graph from one on.
Json dimensions_json(const Graph& graph, int first) {
  return list_json(std::span(graph.indices).subspan(static_cast<size_t>(first)), dimension_json);
}

Json kinds_json(const Graph& graph, const std::vector<NodeId>& nodes) {
  return list_json(nodes, [&](NodeId n) {
    return Json(node_kind_name(graph.nodes[static_cast<size_t>(n)].kind));
  });
}

// --- kernels of rows -------------------------------------------------------------------------

Json rows_load_json(const Program& program, const Graph& graph, const RowsShape& shape, NodeId n) {
  const Node& load = graph.nodes[static_cast<size_t>(n)];
  const auto buffer = static_cast<size_t>(shape.buffer_of[static_cast<size_t>(n)]);
  return Json::object({{"tensor", name_of(program, load.tensor)},
                       {"bytes", tile_elements(graph, load.outputs[0]) * moved_bytes(graph, load)},
                       {"tiles", load_tiles(graph, load)},
                       {"buffer", static_cast<int64_t>(buffer)},
                       {"copies", shape.buffers[buffer].copies}});
}

Json rows_loop_json(const Graph& graph, const TileLoop& loop) {
  const Json width =
      loop.index < 0 ? Json() : Json(graph.indices[static_cast<size_t>(loop.index)].name);
  return Json::object({{"width", width}, {"nodes", kinds_json(graph, loop.nodes)}});
}

Json rows_held_json(const Graph& graph, const RowsShape& shape) {
  const KernelNeed need = rows_need(graph);
  return Json::object(
      {{"registers", need.registers},
       {"scratchpad", need.scratchpad},
       {"places", list_json(shape.places, [&](const RowsPlace& place) {
          return Json::object(
              {{"tiles", place.tiles}, {"bytes", place.elements * graph.tiles->element_bytes}});
        })}});
}

Json rows_plan_json(const Program& program, const RowsOutcome& outcome) {
  if (outcome.fused.cycles == 0) return {};
  const Graph& graph = outcome.graph;
  const RowsShape shape = rows_shape(graph);
  const auto load = [&](NodeId n) { return rows_load_json(program, graph, shape, n); };
  const auto loop = [&](const TileLoop& one) { return rows_loop_json(graph, one); };
  return Json::object({{"rows", dimension_json(graph.indices[kRowsM])},
                       {"batch", graph.indices[kRowsG].size},
                       {"widths", dimensions_json(graph, kRowsWidths)},
                       {"loads", list_json(shape.loads, load)},
                       {"loops", list_json(shape.loops, loop)},
                       {"held", rows_held_json(graph, shape)},
                       {"bytes", bytes_json(outcome.fused.bytes)}});
}

// --- kernels that walk one loop --------------------------------------------------------------

Json load_json(const Program& program, const Graph& graph, NodeId n) {
  const Node& load = graph.nodes[static_cast<size_t>(n)];
  const int64_t packed = varies_along(graph, load)[kKernelK] ? gathered_step(graph) : 0;
  return Json::object({{"tensor", name_of(program, load.tensor)},
                       {"bytes", core_elements(graph, load.outputs[0]) * moved_bytes(graph, load)},
                       {"gathered", packed},
                       {"copies", load.capacity}});
}

/// Steps of k that are walked: of all tiles of rows, in lists of which each has a tile of rows.
Json walk_json(const Graph& graph) {
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t lists = walks_differ_by_batch(graph) ? tiles[kKernelG] : 1;
  int64_t walked = 0;
  for (int64_t g = 0; g < lists; ++g) {
    for (int64_t m = 0; m < tiles[kKernelM]; ++m) {
      for (const TileRange& range : kernel_walk(graph, m, g)) walked += range.end - range.begin;
    }
  }
  return Json::object({{"walked", walked}, {"of", lists * tiles[kKernelM] * tiles[kKernelK]}});
}

Json kernel_json(const Program& program, const Region& region, const Machine& machine) {
  const Graph& graph = *region.graph;
  const KernelRoles roles = kernel_roles(graph);
  const auto kind = std::find_if(region.plan.begin(), region.plan.end(),
                                 [](const auto& note) { return note.first == "kind"; });
  const Measured measured = timed(graph, machine);
  const KernelNeed need = kernel_need(graph);
  const Node& store = graph.nodes[static_cast<size_t>(roles.store)];
  return Json::object(
      {{"region", region.name},
       {"kind", kind == region.plan.end() ? std::string("kernel") : kind->second},
       {"result", name_of(program, store.tensor)},
       {"statements", static_cast<int64_t>(region.statements.size())},
       {"cycles", measured.cycles},
       {"dimensions", dimensions_json(graph, kKernelM)},
       {"steps_of_k", walk_json(graph)},
       {"loads", list_json(roles.loads, [&](NodeId n) { return load_json(program, graph, n); })},
       {"step", kinds_json(graph, roles.steps)},
       {"after", kinds_json(graph, roles.last)},
       {"held", Json::object({{"registers", need.registers}, {"scratchpad", need.scratchpad}})},
       {"bytes", bytes_json(measured.bytes)}});
}

}  // namespace

Json rows_json(const Program& program, const RowsOutcome& outcome) {
  const Json rows = outcome.fused.cycles == 0 ? Json() : Json(outcome.fused.cycles);
  return Json::object(
      {{"results",
        list_json(outcome.results, [&](TensorId t) { return Json(name_of(program, t)); })},
       {"statements", static_cast<int64_t>(outcome.members.size())},
       {"products", outcome.products},
       {"reductions", outcome.reductions},
       {"chosen", outcome.taken()},
       {"kernels_apart", outcome.apart.kernels},
       {"cycles", Json::object({{"rows", rows}, {"apart", outcome.apart.total.cycles}})},
       {"plan", rows_plan_json(program, outcome)}});
}

std::vector<Json> kernels_json(const Program& program, const Machine& machine) {
  std::vector<Json> kernels;
  for (const Region& region : program.regions) {
    if (!region.graph || !is_tile_kernel(*region.graph)) continue;
    kernels.push_back(kernel_json(program, region, machine));
  }
  return kernels;
}

}  // namespace fuseflow::cluster
