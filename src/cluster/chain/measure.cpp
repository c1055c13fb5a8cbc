#include "cluster/chain/measure.h"

#include <algorithm>

#include "cluster/chain/bound.h"
#include "cluster/chain/chain_key.h"
#include "cluster/chain/even_tiles.h"
#include "cluster/common/memo.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostNodesInFull = int64_t{1} << 21;  ///< of all clusters of a plan
constexpr size_t kMostMeasuredBytes = size_t{1} << 26;

}  // namespace

Chain chain_of(const Chain& chain, const MeasuredPlan& plan) {
  return plan.rank > 0 ? as_covered(chain, plan.plan.size) : chain;
}

size_t kept_bytes(const MeasuredPlan& plan) {
  return sizeof(plan) + plan.simulated.size() * sizeof(SimulatedPlan);
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
bool shorten(const Plan& plan, const ChainSteps& steps, int64_t slots, Chain& chain) {
  Dim longest = Dim::m;
  int64_t most = 1;
  for (const Dim dim : {Dim::m, Dim::n, Dim::k, Dim::l}) {
    const bool spare_clusters = plan.schedule.temporal(dim) || steps.clusters >= 4 * slots;
    if (steps.steps[dim] % 2 == 0 && spare_clusters && steps.steps[dim] > most) {
      longest = dim;
      most = steps.steps[dim];
    }
  }
  chain.size[longest] /= most > 1 ? 2 : 1;
  return most > 1;
}

/// Bytes of a whole launch of which a part was measured: the closed forms, which the simulator's
/// counts equal in full, but for what an L2 saves.
LevelBytes scaled_bytes(const LevelBytes& part, const Analysis& analysis, int64_t scale,
                        bool has_l2) {
  LevelBytes all = analysis.total;
  all.global_read -= analysis.shared;
  if (!has_l2) return all;
  LevelBytes bytes = all;
  bytes.l2_read = all.global_read;
  bytes.l2_write = all.global_write;
  bytes.global_read = std::min(all.global_read, scale * part.global_read);
  bytes.global_write = std::min(all.global_write, scale * part.global_write);
  return bytes;
}

}  // namespace

ScaledMeasure measure_scaled(const Chain& chain, const Plan& plan, const Analysis& analysis,
                             const Machine& machine, const ChainForm* form, int64_t most_cycles) {
  Chain smaller = chain;
  Analysis reduced = analysis;
  ScaledMeasure result;
  const int64_t slots = machine.concurrent_clusters(plan.shape.cores());
  while (graph_size(plan, reduced) * reduced.steps.clusters > kMostNodesInFull &&
         shorten(plan, reduced.steps, slots, smaller)) {
    result.scale *= 2;
    reduced = analyze(smaller, plan, machine);
  }
  const bool whole = result.scale == 1 && form != nullptr;
  const Graph graph =
      whole ? lower_plan(*form, chain, plan, analysis) : plan_graph(smaller, plan, reduced);
  LaunchOptions launch;
  launch.most_cycles = ceil_div(most_cycles, result.scale);
  result.measured = time_tiles(graph, machine, launch);
  if (result.scale > 1) {
    result.measured.cycles *= result.scale;
    result.measured.flops *= result.scale;
    result.measured.bytes =
        scaled_bytes(result.measured.bytes, analysis, result.scale, machine.has_l2());
  }
  return result;
}

MeasuredPlan measure_best(const Chain& chain, const std::vector<RankedPlan>& plans,
                          const Machine& machine, const Effort& effort, const ChainForm* form,
                          int64_t to_beat) {
  MeasuredPlan best;
  const ChainForm measured_form = form != nullptr ? *form : own_form(chain);
  const auto least = [&](size_t i) {
    return least_cycles(plans[i].analysis, plans[i].plan, machine);
  };
  const auto simulate = [&](size_t i, int64_t most) {
    const ScaledMeasure measure = measure_scaled(as_covered(chain, plans[i].size), plans[i].plan,
                                                 plans[i].analysis, machine, &measured_form, most);
    const bool faster = best.rank == 0 || measure.measured.cycles < best.measure.measured.cycles;
    if (measure.measured.finished && faster) {
      best.plan = plans[i];
      best.measure = measure;
      best.rank = static_cast<int>(i) + 1;
    }
    best.simulated.push_back({plans[i], measure});
    return Trial{measure.measured.cycles, measure.measured.nodes, measure.measured.finished};
  };
  best.log = find_fastest(plans.size(), least, simulate, effort, to_beat).log;
  return best;
}

namespace {

/// Plans of even tiles get what is left of the effort, at least 1 / this of it.
constexpr int64_t kEvenPart = 8;

/// Takes a plan of even tiles in place of the best one where it is faster.
void try_even_tiles(MeasuredPlan& best, const Chain& chain, const Machine& machine, Holding holding,
                    const Effort& effort, const ChainForm* form) {
  const int64_t to_beat = best.rank > 0 ? best.measure.measured.cycles : 0;
  SearchOptions options;
  options.holding = holding;
  options.top = effort.most;
  EvenPlans all = even_plans(chain, machine, options, to_beat);
  Effort part = effort;
  part.operations = std::max(
      {effort.operations - best.log.operations, effort.operations / kEvenPart, int64_t{1}});
  // Tiles of several paddings have one form, which is that of what exists.
  MeasuredPlan even =
      measure_best(as_covered(chain, chain.actual()), all.plans, machine, part, form, to_beat);
  best.even_log = even.log;
  best.even_log.candidates += all.bounded;
  best.even_log.bounded += all.bounded;
  best.simulated.insert(best.simulated.end(), even.simulated.begin(), even.simulated.end());
  // What was measured in part is not compared with what was measured in full.
  if (even.rank == 0 || (best.rank > 0 && even.measure.scale > best.measure.scale)) return;
  best.plan = even.plan;
  best.measure = even.measure;
  best.rank = even.rank;
  best.even = true;
}

}  // namespace

MeasuredPlan best_plan(const Chain& chain, const Machine& machine, Holding holding,
                       const Effort& effort, const ChainForm* form) {
  static Memo<MeasuredPlan> memo(kMostMeasuredBytes);
  Key key = search_key(chain, machine, effort);
  key.number(static_cast<int64_t>(holding));
  key.number(form != nullptr ? 1 : 0);
  if (form != nullptr) add_form(key, *form);
  return memo.get(key.value(), [&] {
    SearchOptions options;
    options.holding = holding;
    options.top = effort.most;
    MeasuredPlan best =
        measure_best(chain, search(chain, machine, options).best, machine, effort, form);
    try_even_tiles(best, chain, machine, holding, effort, form);
    return best;
  });
}

std::vector<int64_t> measure_all(const Chain& chain, const std::vector<RankedPlan>& plans,
                                 const Machine& machine) {
  const ChainForm form = own_form(chain);
  std::vector<int64_t> cycles;
  for (const RankedPlan& plan : plans) {
    const ScaledMeasure measure = measure_scaled(chain, plan.plan, plan.analysis, machine, &form);
    cycles.push_back(measure.measured.cycles);
  }
  return cycles;
}

}  // namespace fuseflow::cluster
