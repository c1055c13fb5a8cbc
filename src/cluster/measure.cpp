#include "cluster/measure.h"

#include <algorithm>

namespace fuseflow::cluster {

Measured measure_plan(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      const ClusterMachine& machine) {
  const TileGraph first = build_graph(chain, plan, analysis, true);
  const std::vector<ClusterAt> clusters = clusters_of(plan, analysis.trips);
  const bool epilogue = chain.bias1 || chain.residual;
  TileGraph other;
  std::vector<const TileGraph*> graphs{&first};
  if (epilogue) {
    other = build_graph(chain, plan, analysis, false);
    graphs.push_back(&other);
  }
  std::vector<uint8_t> which;
  which.reserve(clusters.size());
  for (const ClusterAt& at : clusters) {
    which.push_back(epilogue && (at[Dim::n] != 0 || at[Dim::k] != 0) ? 1 : 0);
  }
  return time_launch(machine, graphs, which);
}

namespace {

/// Halves the dimension with the most steps that may be halved; false when none is left.
bool shorten(const Plan& plan, const Trips& trips, int64_t slots, Chain& chain) {
  Dim longest = Dim::m;
  int64_t steps = 1;
  for (const Dim dim : {Dim::m, Dim::n, Dim::k, Dim::l}) {
    const bool spare_clusters = plan.schedule.temporal(dim) || trips.clusters >= 4 * slots;
    if (trips.all[dim] % 2 == 0 && spare_clusters && trips.all[dim] > steps) {
      longest = dim;
      steps = trips.all[dim];
    }
  }
  chain.size[longest] /= steps > 1 ? 2 : 1;
  return steps > 1;
}

}  // namespace

ScaledMeasure measure_scaled(const Chain& chain, const Plan& plan, const Analysis& analysis,
                             const ClusterMachine& machine, int64_t most_nodes) {
  Chain smaller = chain;
  Analysis reduced = analysis;
  ScaledMeasure result;
  const int64_t slots = machine.concurrent_clusters(plan.shape.cores());
  while (graph_size(plan, reduced) * reduced.trips.clusters > most_nodes &&
         shorten(plan, reduced.trips, slots, smaller)) {
    result.scale *= 2;
    reduced = analyze(smaller, plan, machine);
  }
  result.measured = measure_plan(smaller, plan, reduced, machine);
  if (result.scale > 1) {
    result.measured.cycles *= result.scale;
    result.measured.flops *= result.scale;
    result.measured.bytes = analysis.total;  // the simulator's count equals it in full
  }
  return result;
}

MeasuredPlan measure_best(const Chain& chain, const std::vector<RankedPlan>& plans,
                          const ClusterMachine& machine, std::vector<ScaledMeasure>* all) {
  MeasuredPlan best;
  for (size_t i = 0; i < plans.size(); ++i) {
    const ScaledMeasure measure =
        measure_scaled(chain, plans[i].plan, plans[i].analysis, machine, kMostNodesInFull);
    if (all != nullptr) {
      all->push_back(measure);
    }
    if (i == 0 || measure.measured.cycles < best.measure.measured.cycles) {
      best = {plans[i], measure, static_cast<int>(i) + 1};
    }
  }
  return best;
}

}  // namespace fuseflow::cluster
