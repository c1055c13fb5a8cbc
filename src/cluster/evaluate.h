// The evaluation of one chain on one machine: unfused, scratchpad-only and linked fusion measured
// by the same simulator, the ablation, and the check of values on a small instance. CSV columns are
// described in ir-spec/cluster.md.
#pragma once

#include <string>
#include <vector>

#include "cluster/baseline.h"
#include "cluster/measure.h"

namespace fuseflow::cluster {

/// The plan's schedule, shape and way with tiles of 16 and two steps a dimension, simulated and
/// compared with the reference.
struct ValueCheck {
  bool passed = false;
  double max_abs_error = 0;
};
ValueCheck check_values(const Chain& chain, const Plan& plan, const Machine& machine);

/// The plan of this very chain (its own program, seeded operands), simulated and compared with the
/// reference.
ValueCheck check_plan_values(const Chain& chain, const Plan& plan, const Machine& machine);

struct Evaluation {
  Chain chain;              ///< padded
  Measured unfused;         ///< one kernel an operator
  Measured unfused_folded;  ///< elementwise operators folded into the products
  Measured unfused_fixed;   ///< one kernel an operator, products in tiles of 128 x 128 x 64
  MeasuredPlan scratchpad_only;
  MeasuredPlan one_core;        ///< the search over clusters of one core, without links
  MeasuredPlan linked;          ///< the search over linked clusters
  int64_t analyzer_cycles = 0;  ///< ablation, analyzer alone: median of random plans without links
  int64_t random_cycles = 0;    ///< ablation, with communication: median of random linked plans
  ValueCheck values;
};

/// One for each chain, in their order, whatever the number of host threads. `top` plans of each
/// search are measured. A scratchpad_only or one_core of rank 0 does not fit.
std::vector<Evaluation> evaluate(const std::vector<Chain>& chains, const Machine& machine, int top,
                                 int threads);

std::string evaluation_header();
std::string evaluation_row(const Evaluation& evaluation, const Machine& machine);

}  // namespace fuseflow::cluster
