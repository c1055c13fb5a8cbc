#include "cluster/chain/ranking.h"

#include <algorithm>
#include <tuple>

namespace fuseflow::cluster {
namespace {

/// Whether two plans do the same work in the same order: they differ in the place of loops of one
/// step, or in whether such a dimension counts as temporal.
bool same_work(const RankedPlan& a, const RankedPlan& b) {
  return a.cost.phased == b.cost.phased && a.plan.tile == b.plan.tile && a.size == b.size &&
         a.plan.shape == b.plan.shape && a.plan.way == b.plan.way &&
         a.analysis.steps.clusters == b.analysis.steps.clusters &&
         a.analysis.visits == b.analysis.visits && a.analysis.core == b.analysis.core;
}

}  // namespace

Chain as_covered(const Chain& chain, const Extents& size) {
  Chain covered = chain;
  covered.unpadded = chain.actual();
  covered.size = size;
  return covered;
}

/// The order of the ranking: strict and total.
bool Ranking::better(const Costed& a, const Costed& b) {
  const auto key = [](const Costed& p) {
    return std::tuple(p.phased, p.memory, p.global, p.products, p.number);
  };
  return key(a) < key(b);
}

RankedPlan Ranking::ranked(const Plan& plan, const Extents& size, int64_t number) const {
  const bool as_given = size == chain_.size;
  RankedPlan result;
  result.plan = plan;
  result.size = size;
  result.analysis = as_given ? analyze(chain_, plan, machine_, holding_)
                             : analyze(as_covered(chain_, size), plan, machine_, holding_);
  result.cost = cost_of(result.analysis, plan, machine_);
  result.candidate = number;
  return result;
}

void Ranking::add(const RankedPlan& plan) {
  const Visits& v = plan.analysis.visits;
  costed_.push_back({plan.plan, plan.size, plan.cost.phased, plan.cost.memory(),
                     plan.analysis.total.global(), v.first_multiplies + v.second_multiplies,
                     plan.candidate});
}

std::vector<RankedPlan> Ranking::take_best(int64_t top) {
  std::sort(costed_.begin(), costed_.end(), better);
  std::vector<RankedPlan> kept;
  size_t equals = 0;  // of kept plans, those from here on have the cost of the one looked at
  for (const Costed& costed : costed_) {
    if (top > 0 && static_cast<int64_t>(kept.size()) == top) break;
    RankedPlan plan = ranked(costed.plan, costed.size, costed.number);
    const auto same = [&](const RankedPlan& other) { return same_work(other, plan); };
    if (equals < kept.size() && kept[equals].cost.phased != plan.cost.phased) {
      equals = kept.size();
    }
    if (std::any_of(kept.begin() + static_cast<int64_t>(equals), kept.end(), same)) continue;
    kept.push_back(plan);
  }
  costed_.clear();
  return kept;
}

}  // namespace fuseflow::cluster
