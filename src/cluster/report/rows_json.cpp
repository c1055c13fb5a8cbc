#include "cluster/report/rows_json.h"

#include "cluster/report/plan_json.h"
#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "nodes/rule.h"
#include "sim/tiles/rows_counts.h"

namespace fuseflow::cluster {
namespace {

Json widths_json(const Graph& graph) {
  std::vector<Json> widths;
  for (size_t d = kRowsWidths; d < graph.indices.size(); ++d) {
    widths.push_back(dimension_json(graph.indices[d]));
  }
  return Json::array(std::move(widths));
}

Json loads_json(const Program& program, const Graph& graph, const RowsShape& shape) {
  std::vector<Json> loads;
  loads.reserve(shape.loads.size());
  for (const NodeId n : shape.loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const auto buffer = static_cast<size_t>(shape.buffer_of[static_cast<size_t>(n)]);
    loads.push_back(
        Json::object({{"tensor", program.tensors[static_cast<size_t>(load.tensor)].name},
                      {"bytes", tile_elements(graph, load.outputs[0]) * moved_bytes(graph, load)},
                      {"tiles", rows_load_tiles(graph, load)},
                      {"buffer", static_cast<int64_t>(buffer)},
                      {"copies", shape.buffers[buffer].copies}}));
  }
  return Json::array(std::move(loads));
}

Json loops_json(const Graph& graph, const RowsShape& shape) {
  std::vector<Json> loops;
  loops.reserve(shape.loops.size());
  for (const RowsLoop& loop : shape.loops) {
    std::vector<Json> nodes;
    nodes.reserve(loop.nodes.size());
    for (const NodeId n : loop.nodes) {
      nodes.emplace_back(node_kind_name(graph.nodes[static_cast<size_t>(n)].kind));
    }
    const Json width =
        loop.width < 0 ? Json() : Json(graph.indices[static_cast<size_t>(loop.width)].name);
    loops.push_back(Json::object({{"width", width}, {"nodes", Json::array(std::move(nodes))}}));
  }
  return Json::array(std::move(loops));
}

Json held_json(const Graph& graph, const RowsShape& shape) {
  std::vector<Json> places;
  places.reserve(shape.places.size());
  for (const RowsPlace& place : shape.places) {
    places.push_back(Json::object(
        {{"tiles", place.tiles}, {"bytes", place.elements * graph.tiles->element_bytes}}));
  }
  const KernelNeed need = rows_need(graph);
  return Json::object({{"registers", need.registers},
                       {"scratchpad", need.scratchpad},
                       {"places", Json::array(std::move(places))}});
}

Json plan_json(const Program& program, const RowsOutcome& outcome) {
  if (outcome.fused.cycles == 0) return {};
  const Graph& graph = outcome.graph;
  const RowsShape shape = rows_shape(graph);
  return Json::object({{"rows", dimension_json(graph.indices[kRowsM])},
                       {"batch", graph.indices[kRowsG].size},
                       {"widths", widths_json(graph)},
                       {"loads", loads_json(program, graph, shape)},
                       {"loops", loops_json(graph, shape)},
                       {"held", held_json(graph, shape)},
                       {"bytes", bytes_json(outcome.fused.bytes)}});
}

}  // namespace

Json rows_json(const Program& program, const RowsOutcome& outcome) {
  std::vector<Json> results;
  results.reserve(outcome.results.size());
  for (const TensorId t : outcome.results) {
    results.emplace_back(program.tensors[static_cast<size_t>(t)].name);
  }
  const Json rows = outcome.fused.cycles == 0 ? Json() : Json(outcome.fused.cycles);
  return Json::object(
      {{"results", Json::array(std::move(results))},
       {"statements", static_cast<int64_t>(outcome.members.size())},
       {"products", outcome.products},
       {"reductions", outcome.reductions},
       {"chosen", outcome.kind == RowsOutcome::Kind::taken},
       {"kernels_apart", outcome.given.kernels},
       {"cycles", Json::object({{"rows", rows}, {"apart", outcome.given.total.cycles}})},
       {"plan", plan_json(program, outcome)}});
}

}  // namespace fuseflow::cluster
