#include "cluster/remaining.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "cluster/common/attach_plan.h"
#include "cluster/common/statement_table.h"
#include "cluster/common/timings.h"

namespace fuseflow::cluster {
namespace {

enum class Step : uint8_t { fold, rows, second_products };
using Order = std::array<Step, 3>;

CombinedKernels combined_in(const Order& order, Program& program, const Machine& machine) {
  CombinedKernels combined;
  for (const Step step : order) {
    if (step == Step::fold) combined.folded = fold_kernels(program, machine);
    // Folding is a step of its own.
    if (step == Step::rows) {
      combined.rows = plan_rows(program, machine, {.against_folded = false});
    }
    if (step == Step::second_products) {
      combined.second_products = plan_second_products(program, machine);
    }
  }
  return combined;
}

bool leaves_tiles_out(const Program& program) {
  return std::any_of(program.regions.begin(), program.regions.end(), [](const Region& region) {
    return region.graph && region.graph->tiles && !region.graph->tiles->open.empty();
  });
}

}  // namespace

int64_t tiles_cycles(const Program& program, const Machine& machine) {
  int64_t cycles = 0;
  for (const Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) continue;
    cycles += timed(*region.graph, machine).cycles + machine.reconfiguration_cycles;
  }
  return cycles;
}

CombinedKernels combine_kernels(Program& program, const Machine& machine) {
  std::vector<Order> others;
  const bool sparse = leaves_tiles_out(program);
  Program best = program;
  CombinedKernels combined =
      combined_in({Step::fold, Step::rows, Step::second_products}, best, machine);
  int64_t least = tiles_cycles(best, machine);
  if (!combined.folded.empty()) others.push_back({Step::rows, Step::fold, Step::second_products});
  if (sparse) others.push_back({Step::second_products, Step::fold, Step::rows});
  if (sparse) others.push_back({Step::second_products, Step::rows, Step::fold});
  for (const Order& order : others) {
    Program other = program;
    CombinedKernels found = combined_in(order, other, machine);
    const int64_t cycles = tiles_cycles(other, machine);
    if (cycles >= least) continue;
    least = cycles;
    best = std::move(other);
    combined = std::move(found);
  }
  program = std::move(best);
  return combined;
}

namespace {

/// A program whose rest is planned: the statements that are left to streams, whose cycles are not
/// counted, and the cycles of all graphs of tiles and of the copies of inputs that they read.
struct Planned {
  Program program;
  RemainingKernels rest;
  ContestedOrders contested;
  size_t left = 0;
  int64_t cycles = 0;
  bool better_than(const Planned& other) const {
    return left <= other.left && cycles < other.cycles;
  }
};

/// With the orders that the options say, and of others those that kernels by themselves want most.
Planned planned_once(const Program& program, const Machine& machine, KernelOptions options) {
  Planned made{program, {}, {}, 0, 0};
  options.contested = &made.contested;
  options.sparse = &made.rest.sparse;
  options.unproved = &made.rest.unproved;
  made.rest.refused = make_kernels(made.program, machine, options);
  made.rest.combined = combine_kernels(made.program, machine);
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

int innermost_of(const Program& program, TensorId tensor) {
  const Format& format = program.tensors[static_cast<size_t>(tensor)].format;
  return format.all_dense() ? format.mode_order.back() : -1;
}

/// Each contested tensor in each of its orders, one tensor after the other.
Planned planned(const Program& program, const Machine& machine, KernelOptions options) {
  Planned best = planned_once(program, machine, options);
  const ContestedOrders contested = best.contested;
  for (const auto& [tensor, orders] : contested) {
    InnermostDims kept = options.orders;
    for (const int innermost : orders) {
      if (innermost == innermost_of(best.program, tensor)) continue;
      options.orders[tensor] = innermost;
      Planned other = planned_once(program, machine, options);
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

/// What becomes of a chain.
enum class ChainDecision : uint8_t {
  planned,   ///< its plan stays
  given,     ///< no plan, statements where they were given
  together,  ///< no plan, statements in one region, in the place of the last: kernels that begin or
             ///< end beside it then have others beside them
};

/// The plans of chains put into the program that has none.
class Chains {
 public:
  Chains(const Program& unchained, const Program& program, const std::vector<TensorId>& chains)
      : unchained_(unchained) {
    for (const size_t r : regions_of(program, chains)) planned_.push_back(program.regions[r]);
    left_.assign(planned_.size(), ChainDecision::planned);
  }

  size_t size() const { return planned_.size(); }
  TensorId result(size_t chain) const { return planned_[chain].statements.back().result; }
  void leave(size_t chain, ChainDecision how) { left_[chain] = how; }

  Program program() const {
    Program made = unchained_;
    for (size_t c = 0; c < size(); ++c) {
      if (left_[c] == ChainDecision::given) continue;
      const Region& chain = planned_[c];
      attach_plan(made, results_of(chain), chain.plan, *chain.graph);
      if (left_[c] == ChainDecision::together) take_plan_away(made, result(c));
    }
    return made;
  }

  /// Statements from the chain before one to the chain after it, both included, of a program with
  /// all chains.
  std::set<TensorId> around(const Program& all, size_t one) const {
    const std::vector<size_t> at = regions_of(all, results());
    const size_t first = one == 0 ? 0 : at[one - 1];
    const size_t last = one + 1 == at.size() ? all.regions.size() - 1 : at[one + 1];
    std::set<TensorId> members;
    for (size_t r = first; r <= last; ++r) {
      const std::vector<TensorId> results = results_of(all.regions[r]);
      members.insert(results.begin(), results.end());
    }
    return members;
  }

 private:
  std::vector<TensorId> results() const {
    std::vector<TensorId> results;
    for (size_t c = 0; c < size(); ++c) results.push_back(result(c));
    return results;
  }

  const Program& unchained_;
  std::vector<Region> planned_;  ///< in program order
  std::vector<ChainDecision> left_;
};

}  // namespace

RemainingKernels plan_remaining(Program& program, const Machine& machine,
                                const KernelOptions& options) {
  Planned made = planned(program, machine, options);
  Program other = program;
  std::vector<DividedProduct> divided = divide_products(other, machine, options, Divide::always);
  if (!divided.empty()) {
    Planned parts = planned(other, machine, options);
    if (parts.better_than(made)) {
      made = std::move(parts);
      made.rest.divided = std::move(divided);
    }
  }
  program = std::move(made.program);
  return std::move(made.rest);
}

std::vector<DroppedChain> drop_slow_chains(Program& program, const Program& unchained,
                                           const std::vector<TensorId>& results,
                                           const Machine& machine, const KernelOptions& options) {
  std::vector<DroppedChain> dropped;
  Chains chains(unchained, program, results);
  KernelOptions within = options;
  within.whole = &unchained;  // the same statements, whatever is planned
  for (size_t chain = chains.size(); chain-- > 0;) {
    const std::set<TensorId> members = chains.around(program, chain);
    const auto part = [&] { return planned(part_of(chains.program(), members), machine, within); };
    const Planned with = part();
    Planned best = with;
    ChainDecision how = ChainDecision::planned;
    for (const ChainDecision other : {ChainDecision::given, ChainDecision::together}) {
      chains.leave(chain, other);
      Planned without = part();
      if (!without.better_than(best)) continue;
      best = std::move(without);
      how = other;
    }
    chains.leave(chain, how);
    if (how != ChainDecision::planned)
      dropped.push_back({chains.result(chain), with.cycles, best.cycles});
  }
  if (dropped.empty()) return dropped;
  Program chosen = chains.program();
  if (!planned(chosen, machine, options).better_than(planned(program, machine, options))) return {};
  program = std::move(chosen);
  return dropped;
}

}  // namespace fuseflow::cluster
