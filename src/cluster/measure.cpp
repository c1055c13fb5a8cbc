#include "cluster/measure.h"

#include <algorithm>

#include "cluster/lower_plan.h"

namespace fuseflow::cluster {

Measured measure_plan(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      const Machine& machine) {
  return time_tiles(plan_graph(chain, plan, analysis), machine);
}

namespace {

/// Tile operations of one cluster, about.
int64_t graph_size(const Plan& plan, const Analysis& analysis) {
  const Visits& v = analysis.visits;
  const ClusterShape& shape = plan.shape;
  const int64_t each = v.a_loads + v.b_loads + v.d_loads + v.first_multiplies +
                       2 * v.second_multiplies + v.c_tiles * (shape.k > 1 ? 6 : 3) + v.e_tiles * 5 +
                       2 * v.e_respills;
  return each * shape.cores();
}

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
                             const Machine& machine, int64_t most_nodes, const GraphOf& graph_of) {
  Chain smaller = chain;
  Analysis reduced = analysis;
  ScaledMeasure result;
  const int64_t slots = machine.concurrent_clusters(plan.shape.cores());
  while (graph_size(plan, reduced) * reduced.trips.clusters > most_nodes &&
         shorten(plan, reduced.trips, slots, smaller)) {
    result.scale *= 2;
    reduced = analyze(smaller, plan, machine);
  }
  result.measured = result.scale == 1 && graph_of ? time_tiles(graph_of(plan, analysis), machine)
                                                  : measure_plan(smaller, plan, reduced, machine);
  if (result.scale > 1) {
    result.measured.cycles *= result.scale;
    result.measured.flops *= result.scale;
    result.measured.bytes = analysis.total;  // the simulator's count equals it in full
  }
  return result;
}

MeasuredPlan measure_best(const Chain& chain, const std::vector<RankedPlan>& plans,
                          const Machine& machine, std::vector<ScaledMeasure>* all,
                          const GraphOf& graph_of) {
  MeasuredPlan best;
  for (size_t i = 0; i < plans.size(); ++i) {
    const ScaledMeasure measure = measure_scaled(chain, plans[i].plan, plans[i].analysis, machine,
                                                 kMostNodesInFull, graph_of);
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
