// Measuring by simulation: fused plans, the unfused program and scratchpad-only fusion, all on the
// same machine and by the same simulator.
#pragma once

#include <string>
#include <vector>

#include "cluster/chain/lower_plan.h"
#include "cluster/chain/search.h"
#include "cluster/common/fastest.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// A measurement that may stand for a larger one: `scale` 1 is full; else loops were shortened by
/// this factor in all and cycles, bytes and FLOPs multiplied by it.
struct ScaledMeasure {
  Measured measured;
  int64_t scale = 1;
};
/// A plan, in part where it is too large. `form`: of the chain where it was found, in which it is
/// measured, since that is what is then simulated; null: that of the chain's own program.
/// `most_cycles`: a plan that takes more is not finished; 0: any number.
ScaledMeasure measure_scaled(const Chain& chain, const Plan& plan, const Analysis& analysis,
                             const Machine& machine, const ChainForm* form = nullptr,
                             int64_t most_cycles = 0);

/// A plan whose simulation was begun; not finished where it was slower than the best by then.
struct SimulatedPlan {
  RankedPlan plan;
  ScaledMeasure measure;
};

struct MeasuredPlan {
  RankedPlan plan;
  ScaledMeasure measure;
  int rank = 0;  ///< place in the ranking by cost, from 1; 0: there was no plan
  SearchLog log;
  SearchLog even_log;  ///< of the plans of even tiles (even_tiles.h); no candidates: none searched
  bool even = false;   ///< the plan is one of them, and `rank` its place among them
  std::vector<SimulatedPlan> simulated;  ///< in the order of their cost; those of even tiles last
  /// No plan of either space is faster.
  bool proven() const { return log.left == 0 && even_log.left == 0; }
};

/// The chain as its plan pads it; as given where there is no plan.
Chain chain_of(const Chain& chain, const MeasuredPlan& plan);

/// Bytes that a plan takes in a memo (common/memo.h).
size_t kept_bytes(const MeasuredPlan& plan);

/// The fastest of `plans` (in the order of their cost) that the effort finds; the earlier one of
/// two equal. `form`: as there. `to_beat`: cycles that it has to be below; 0: any.
MeasuredPlan measure_best(const Chain& chain, const std::vector<RankedPlan>& plans,
                          const Machine& machine, const Effort& effort = {},
                          const ChainForm* form = nullptr, int64_t to_beat = 0);

/// The fastest plan of the published space, or one of even tiles that is faster. Equal chains are
/// searched once.
MeasuredPlan best_plan(const Chain& chain, const Machine& machine, Holding holding,
                       const Effort& effort = {}, const ChainForm* form = nullptr);

/// Cycles of every plan, in full or scaled.
std::vector<int64_t> measure_all(const Chain& chain, const std::vector<RankedPlan>& plans,
                                 const Machine& machine);

}  // namespace fuseflow::cluster
