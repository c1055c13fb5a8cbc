// Measuring by simulation: fused plans, the unfused program and scratchpad-only fusion, all on the
// same machine and by the same simulator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/search.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// Makes the graph of a plan. What is measured is what is then simulated, so a chain that was found
/// in a program is measured in the form that it has there (lower_plan).
using GraphOf = std::function<Graph(const Plan& plan, const Analysis& analysis)>;

/// Times one plan in full.
Measured measure_plan(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      const Machine& machine);

/// A measurement that may stand for a larger one: `scale` 1 is full; else loops were shortened by
/// this factor in all and cycles, bytes and FLOPs multiplied by it.
struct ScaledMeasure {
  Measured measured;
  int64_t scale = 1;
};
/// `graph_of`: of the chain itself; null: that of the chain's own program.
ScaledMeasure measure_scaled(const Chain& chain, const Plan& plan, const Analysis& analysis,
                             const Machine& machine, int64_t most_nodes,
                             const GraphOf& graph_of = {});

/// Tile nodes of a plan (all clusters) up to which it is measured in full.
inline constexpr int64_t kMostNodesInFull = int64_t{1} << 21;

struct MeasuredPlan {
  RankedPlan plan;
  ScaledMeasure measure;
  int rank = 0;  ///< place in the ranking by cost, from 1; 0: there was no plan
};

/// Measures every plan; the fastest, the earlier one of two equal. `all`, when given, receives one
/// measure a plan.
MeasuredPlan measure_best(const Chain& chain, const std::vector<RankedPlan>& plans,
                          const Machine& machine, std::vector<ScaledMeasure>* all = nullptr,
                          const GraphOf& graph_of = {});

}  // namespace fuseflow::cluster
