#include "cluster/rest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/part.h"
#include "cluster/recognize.h"

namespace fuseflow::cluster {
namespace {

/// A program whose rest is planned: the statements that are left to streams, whose cycles are not
/// counted, and the cycles of all graphs of tiles and of the copies of inputs that they read.
struct Planned {
  Program program;
  PlannedRest rest;
  ContestedOrders contested;
  size_t left = 0;
  int64_t cycles = 0;
  bool better_than(const Planned& other) const {
    return left <= other.left && cycles < other.cycles;
  }
};

/// With the orders that the options say, and of others those that kernels by themselves want most.
Planned planned_once(const Program& program, const Machine& machine, KernelOptions options,
                     const RowsOptions& rows) {
  Planned made{program, {}, {}, 0, 0};
  options.contested = &made.contested;
  options.sparse = &made.rest.sparse;
  made.rest.refused = make_kernels(made.program, machine, options);
  made.rest.combined = combine_kernels(made.program, machine, rows);
  made.cycles = tiles_cycles(made.program, machine);
  if (options.given != nullptr) {
    made.cycles +=
        reordering_cycles(program.tensors, *options.given, made.program.tensors, machine);
  }
  for (const Region& region : made.program.regions) {
    if (!region.graph || !region.graph->tiles) made.left += region.statements.size();
  }
  return made;
}

/// Each contested tensor in each of its orders, one tensor after the other.
Planned planned(const Program& program, const Machine& machine, KernelOptions options,
                const RowsOptions& rows = {}) {
  Planned best = planned_once(program, machine, options, rows);
  const ContestedOrders contested = best.contested;
  for (const auto& [tensor, orders] : contested) {
    InnermostDims kept = options.orders;
    for (const int innermost : orders) {
      options.orders[tensor] = innermost;
      Planned other = planned_once(program, machine, options, rows);
      if (!other.better_than(best)) continue;
      best = std::move(other);
      kept = options.orders;
    }
    options.orders = std::move(kept);
  }
  return best;
}

void take_plan_away(Program& program, TensorId result) {
  for (const size_t r : regions_of(program, {result})) {
    program.regions[r].graph.reset();
    program.regions[r].plan.clear();
  }
}

/// Of the regions [first, last].
Program regions_between(const Program& program, size_t first, size_t last) {
  std::set<TensorId> members;
  for (size_t r = first; r <= last; ++r) {
    for (const Statement& s : program.regions[r].statements) members.insert(s.result);
  }
  return part_of(program, members);
}

/// From the chain before a region to the chain after it.
Program around(const Program& program, size_t region, const std::vector<size_t>& chains) {
  const auto at = std::lower_bound(chains.begin(), chains.end(), region);
  const size_t first = at == chains.begin() ? 0 : *(at - 1);
  const size_t last = at + 1 == chains.end() ? program.regions.size() - 1 : *(at + 1);
  return regions_between(program, first, last);
}

}  // namespace

PlannedRest plan_rest(Program& program, const Machine& machine, const KernelOptions& options,
                      const RowsOptions& rows) {
  Planned made = planned(program, machine, options, rows);
  program = std::move(made.program);
  return std::move(made.rest);
}

std::vector<DroppedChain> drop_slow_chains(Program& program, const std::vector<TensorId>& chains,
                                           const Machine& machine, const KernelOptions& options) {
  std::vector<DroppedChain> dropped;
  const std::vector<size_t> regions = regions_of(program, chains);
  Program chosen = program;
  KernelOptions within = options;
  within.whole = &program;  // the same statements, whatever is planned
  for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
    Program part = around(chosen, regions_of(chosen, {*chain}).front(), regions);
    const Planned with = planned(part, machine, within);
    take_plan_away(part, *chain);
    const Planned without = planned(part, machine, within);
    if (!without.better_than(with)) continue;
    dropped.push_back({*chain, with.cycles, without.cycles});
    take_plan_away(chosen, *chain);
  }
  if (dropped.empty()) return dropped;
  if (!planned(chosen, machine, options).better_than(planned(program, machine, options))) return {};
  program = std::move(chosen);
  return dropped;
}

}  // namespace fuseflow::cluster
