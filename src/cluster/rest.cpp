#include "cluster/rest.h"

#include <algorithm>
#include <utility>

#include "cluster/combine.h"
#include "cluster/common/attach_plan.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostTried = 16;  ///< chains: each takes a plan of the whole program

/// A program whose rest is planned: the statements that are left to streams, whose cycles are not
/// counted, and the cycles of all graphs of tiles.
struct Planned {
  size_t left = 0;
  int64_t cycles = 0;
  bool better_than(const Planned& other) const {
    return left <= other.left && cycles < other.cycles;
  }
};

Planned planned(Program program, const Machine& machine, const KernelOptions& options) {
  plan_rest(program, machine, options);
  Planned made{0, tiles_cycles(program, machine)};
  for (const Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) made.left += region.statements.size();
  }
  return made;
}

void take_plan_away(Program& program, TensorId result) {
  for (const size_t r : regions_of(program, {result})) {
    program.regions[r].graph.reset();
    program.regions[r].plan.clear();
  }
}

}  // namespace

void plan_rest(Program& program, const Machine& machine, const KernelOptions& options) {
  make_kernels(program, machine, options);
  combine_kernels(program, machine);
}

std::vector<DroppedChain> drop_slow_chains(Program& program, const std::vector<TensorId>& chains,
                                           const Machine& machine, const KernelOptions& options) {
  std::vector<DroppedChain> dropped;
  if (chains.empty()) return dropped;
  Planned with = planned(program, machine, options);
  const size_t tried = std::min(chains.size(), kMostTried);
  for (auto chain = chains.rbegin(); chain != chains.rbegin() + static_cast<std::ptrdiff_t>(tried);
       ++chain) {
    Program other = program;
    take_plan_away(other, *chain);
    const Planned without = planned(other, machine, options);
    if (!without.better_than(with)) continue;
    dropped.push_back({*chain, with.cycles, without.cycles});
    with = without;
    program = std::move(other);
  }
  return dropped;
}

}  // namespace fuseflow::cluster
