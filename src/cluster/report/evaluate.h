// The evaluation of one chain on one machine: unfused, scratchpad-only and linked fusion, as the
// planner has them and measured by the same simulator, the ablation, and the check of values on a
// small instance. CSV columns are described in ir-spec/cluster.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/plan.h"

namespace fuseflow::cluster {

/// The plan's schedule, shape and way with tiles of 16 and two steps a dimension, simulated and
/// compared with the reference.
struct ValueCheck {
  bool passed = false;
  bool decided = true;  ///< else some elements were not compared
  double max_abs_error = 0;
};
ValueCheck check_values(const Chain& chain, const Plan& plan, const Machine& machine);

/// The plan of this very chain (its own program, seeded operands), simulated and compared with the
/// reference.
ValueCheck check_plan_values(const Chain& chain, const Plan& plan, const Machine& machine);

/// What the planner would do with a chain by itself: the plans of its own program. A convolution
/// chain is its im2col form.
Choice choice_of(const Chain& chain, const Machine& machine, const Effort& effort, int threads);

struct Evaluation {
  Chain chain;  ///< padded
  Choice choice;
  Measured unfused_fixed;  ///< one kernel an operator, products in tiles of 128 x 128 x 64
  MeasuredPlan scratchpad_only;
  int64_t analyzer_cycles = 0;  ///< ablation, analyzer alone: median of random plans without links
  int64_t random_cycles = 0;    ///< ablation, with communication: median of random linked plans
  std::optional<ValueCheck> values;  ///< of its plan, if there is one
};

/// One for each chain, in their order, whatever the number of host threads. Each search has the
/// whole effort. A scratchpad_only of rank 0 does not fit.
std::vector<Evaluation> evaluate(const std::vector<Chain>& chains, const Machine& machine,
                                 const Effort& effort, int threads);

std::string evaluation_header();
std::string evaluation_row(const Evaluation& evaluation, const Machine& machine);

}  // namespace fuseflow::cluster
