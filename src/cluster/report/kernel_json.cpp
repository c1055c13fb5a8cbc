#include "cluster/report/kernel_json.h"

#include <algorithm>

#include "cluster/common/timings.h"
#include "cluster/report/plan_json.h"
#include "graph/tile_kernel.h"
#include "nodes/rule.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow::cluster {
namespace {

std::string name_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].name;
}

Json dimensions_json(const Graph& graph) {
  std::vector<Json> dimensions;
  dimensions.reserve(graph.indices.size());
  for (const GraphIndex& index : graph.indices) dimensions.push_back(dimension_json(index));
  return Json::array(std::move(dimensions));
}

Json loads_json(const Program& program, const Graph& graph, const KernelRoles& roles) {
  std::vector<Json> loads;
  loads.reserve(roles.loads.size());
  for (const NodeId n : roles.loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const int64_t packed = varies_along(graph, load)[kKernelK] ? gathered_step(graph) : 0;
    loads.push_back(
        Json::object({{"tensor", name_of(program, load.tensor)},
                      {"bytes", core_elements(graph, load.outputs[0]) * moved_bytes(graph, load)},
                      {"gathered", packed},
                      {"copies", load.capacity}}));
  }
  return Json::array(std::move(loads));
}

Json kinds_json(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<Json> kinds;
  kinds.reserve(nodes.size());
  for (const NodeId n : nodes) {
    kinds.emplace_back(node_kind_name(graph.nodes[static_cast<size_t>(n)].kind));
  }
  return Json::array(std::move(kinds));
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
       {"dimensions", dimensions_json(graph)},
       {"steps_of_k", walk_json(graph)},
       {"loads", loads_json(program, graph, roles)},
       {"step", kinds_json(graph, roles.steps)},
       {"after", kinds_json(graph, roles.last)},
       {"held", Json::object({{"registers", need.registers}, {"scratchpad", need.scratchpad}})},
       {"bytes", bytes_json(measured.bytes)}});
}

}  // namespace

std::vector<Json> kernels_json(const Program& program, const Machine& machine) {
  std::vector<Json> kernels;
  for (const Region& region : program.regions) {
    if (!region.graph || !is_tile_kernel(*region.graph)) continue;
    kernels.push_back(kernel_json(program, region, machine));
  }
  return kernels;
}

}  // namespace fuseflow::cluster
