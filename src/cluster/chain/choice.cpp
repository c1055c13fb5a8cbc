#include "cluster/chain/choice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

#include "support/on_threads.h"

namespace fuseflow::cluster {

std::string_view name_of(Way way) {
  static constexpr std::array<std::string_view, 5> kNames{"linked", "one_core", "folded",
                                                          "separate", "rows"};
  return kNames[static_cast<size_t>(way)];
}

const MeasuredPlan& Choice::fused() const {
  const bool alone = one_core.rank > 0 && (linked.rank == 0 || one_core.measure.measured.cycles <
                                                                   linked.measure.measured.cycles);
  return alone ? one_core : linked;
}

const Measured& Choice::apart() const {
  return separate.cycles < folded.cycles ? separate : folded;
}

Way Choice::way() const {
  const MeasuredPlan& plan = fused();
  if (plan.rank > 0 && plan.measure.measured.cycles < apart().cycles) {
    return &plan == &linked ? Way::linked : Way::one_core;
  }
  return &apart() == &folded ? Way::folded : Way::separate;
}

int64_t Choice::cycles() const {
  const Way taken = way();
  const bool plan = taken == Way::linked || taken == Way::one_core;
  return plan ? fused().measure.measured.cycles : apart().cycles;
}

double Choice::links_gain() const {
  if (linked.rank == 0 || one_core.rank == 0) return 0;
  return static_cast<double>(one_core.measure.measured.cycles) /
         static_cast<double>(linked.measure.measured.cycles);
}

std::vector<std::function<void()>> choice_tasks(Choice& choice, const Chain& chain,
                                                const Machine& machine, const Effort& effort,
                                                const ChainForm* form, bool apart) {
  std::vector<std::function<void()>> tasks;
  const auto unfused_as = [&](Measured& of, Kernels kernels) {
    tasks.emplace_back([&, kernels] { of = unfused(chain, machine, effort, kernels); });
  };
  const auto planned_as = [&](MeasuredPlan& of, Holding holding) {
    tasks.emplace_back(
        [&, form, holding] { of = best_plan(chain, machine, holding, effort, form); });
  };
  if (apart) unfused_as(choice.separate, Kernels::separate);
  if (apart) unfused_as(choice.folded, Kernels::folded);
  planned_as(choice.one_core, Holding::one_core);
  planned_as(choice.linked, Holding::linked);
  return tasks;
}

void run_tasks(const std::vector<std::function<void()>>& tasks, int threads) {
  std::vector<std::exception_ptr> errors(tasks.size());
  std::atomic<size_t> next = 0;
  on_threads(threads, [&] {
    for (size_t t = next++; t < tasks.size(); t = next++) {
      try {
        tasks[t]();
      } catch (...) {
        errors[t] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace fuseflow::cluster
