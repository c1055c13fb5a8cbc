#include "cluster/apart.h"

#include <algorithm>
#include <map>

#include "cluster/kernels.h"
#include "graph/tile_kernel.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow::cluster {
namespace {

/// The program with no other statements than these, nothing lowered or scheduled.
Program only(const Program& program, const std::set<TensorId>& members) {
  Program part = program;
  for (Region& region : part.regions) {
    std::erase_if(region.statements,
                  [&](const Statement& s) { return members.count(s.result) == 0; });
    region.schedule = {};
    region.graph.reset();
    region.plan.clear();
  }
  std::erase_if(part.regions, [](const Region& region) { return region.statements.empty(); });
  store_dense(part);
  return part;
}

/// When each tensor was loaded or stored last, by the number of the kernel.
using Touched = std::map<TensorId, int64_t>;

/// The tiles of what was touched before, the longest ago first.
std::vector<std::pair<TileKey, int64_t>> held_tiles(const Graph& graph, const Touched& touched) {
  std::vector<std::pair<int64_t, NodeId>> loads;
  for (const NodeId n : kernel_roles(graph).loads) {
    const auto at = touched.find(graph.nodes[static_cast<size_t>(n)].tensor);
    if (at != touched.end()) loads.emplace_back(at->second, n);
  }
  std::sort(loads.begin(), loads.end());
  std::vector<std::pair<TileKey, int64_t>> held;
  for (const auto& [when, n] : loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const int64_t bytes = tile_elements(graph, load.outputs[0]) * graph.tiles->element_bytes;
    for (const int64_t tile : walked_tiles(graph, load)) held.push_back({{n, tile, 0}, bytes});
  }
  return held;
}

void touch(const Graph& graph, int64_t kernel, Touched& touched) {
  for (const Node& node : graph.nodes) {
    if (node.tensor >= 0) touched[node.tensor] = kernel;
  }
}

/// All kernels of a program one after the other; nothing, and the reason, where a region is none.
std::optional<KernelsApart> apart_of(Program part, const Program& whole, const Machine& machine,
                                     std::string& why, bool reorder = false) {
  const KernelOptions options{.reorder_operands = reorder, .whole = &whole};
  const std::vector<RefusedKernel> refused = make_kernels(part, machine, options);
  if (!refused.empty()) {
    why = refused.front().why;
    return std::nullopt;
  }
  KernelsApart apart;
  Touched touched;
  for (const Region& region : part.regions) {
    LaunchOptions launch;
    if (machine.has_l2()) launch.held = held_tiles(*region.graph, touched);
    if (apart.kernels > 0) apart.total.cycles += machine.reconfiguration_cycles;
    apart.total += time_tiles(*region.graph, machine, launch);
    touch(*region.graph, apart.kernels++, touched);
  }
  return apart;
}

}  // namespace

std::optional<KernelsApart> kernels_apart(const Program& program, const std::set<TensorId>& members,
                                          const Machine& machine, std::string& why) {
  return apart_of(only(program, members), program, machine, why);
}

std::optional<KernelsApart> sparse_kernels_apart(const Program& program,
                                                 const std::vector<TensorId>& members,
                                                 const Machine& machine, bool reorder) {
  Program part = only(program, {members.begin(), members.end()});
  if (!may_leave_tiles_out(part, program)) return std::nullopt;
  std::string why;
  return apart_of(std::move(part), program, machine, why, reorder);
}

}  // namespace fuseflow::cluster
