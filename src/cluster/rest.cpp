#include "cluster/rest.h"

#include <algorithm>
#include <utility>

#include "cluster/combine.h"
#include "cluster/recognize.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostTried = 16;  ///< chains: each takes a plan of the whole program

int64_t planned_cycles(Program program, const Machine& machine, const KernelOptions& options) {
  plan_rest(program, machine, options);
  return tiles_cycles(program, machine);
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
  int64_t cycles = planned_cycles(program, machine, options);
  const size_t tried = std::min(chains.size(), kMostTried);
  for (auto chain = chains.rbegin(); chain != chains.rbegin() + static_cast<std::ptrdiff_t>(tried);
       ++chain) {
    Program other = program;
    take_plan_away(other, *chain);
    const int64_t without = planned_cycles(other, machine, options);
    if (without >= cycles) continue;
    dropped.push_back({*chain, cycles, without});
    cycles = without;
    program = std::move(other);
  }
  return dropped;
}

}  // namespace fuseflow::cluster
