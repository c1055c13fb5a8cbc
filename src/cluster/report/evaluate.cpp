#include "cluster/report/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cluster/chain/lower_plan.h"
#include "cluster/chain/recognize.h"
#include "cluster/report/chain_report.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "support/csv.h"

namespace fuseflow::cluster {
namespace {

constexpr double kTolerance = 1e-4;

constexpr int kRandomPlans = 11;

int64_t median_random_cycles(const Chain& chain, const Machine& machine, Holding holding) {
  std::vector<int64_t> cycles =
      measure_all(chain, random_plans(chain, machine, {kRandomPlans, 1, holding}), machine);
  std::sort(cycles.begin(), cycles.end());
  return cycles.empty() ? 0 : cycles[cycles.size() / 2];
}

using Task = std::function<void()>;

/// What an evaluation consists of; none needs another's result. `threads`: of its longest part.
std::vector<Task> tasks_of(Evaluation& result, const Machine& machine, const Effort& effort,
                           int threads) {
  const Chain& chain = result.chain;
  return {
      [&, threads] { result.choice = choice_of(chain, machine, effort, threads); },
      [&] { result.unfused_fixed = unfused(chain, machine, effort, Kernels::fixed); },
      [&] { result.scratchpad_only = best_plan(chain, machine, Holding::scratchpad, effort); },
      [&] { result.analyzer_cycles = median_random_cycles(chain, machine, Holding::one_core); },
      [&] { result.random_cycles = median_random_cycles(chain, machine, Holding::linked); },
  };
}

/// Rank, name and simulation of the linked plan: empty cells where there is none.
std::string linked_cells(const MeasuredPlan& linked) {
  if (linked.rank == 0) return ",,,";
  std::string plan = describe(linked.plan.plan);
  std::replace(plan.begin(), plan.end(), ',', 'x');
  const int64_t scale = linked.measure.scale;
  return fmt::format("{},{},{},{}", linked.rank, plan, scale == 1 ? "full" : "reduced", scale);
}

/// Whether the values are right, and how far off they are.
std::string value_cells(const std::optional<ValueCheck>& values) {
  if (!values) return "no,";
  return fmt::format("{},{:.3g}",
                     !values->passed   ? "wrong"
                     : values->decided ? "ok"
                                       : "undecided",
                     values->max_abs_error);
}

std::string proven_cell(const MeasuredPlan& linked) {
  return linked.rank == 0 ? "" : linked.proven() ? "yes" : "no";
}

std::string optional_plan(const MeasuredPlan& plan) {
  if (plan.rank == 0) {
    return "no,,";
  }
  return fmt::format("yes,{},{}", plan.measure.measured.bytes.global(),
                     plan.measure.measured.cycles);
}

}  // namespace

ValueCheck check_values(const Chain& chain, const Plan& plan, const Machine& machine) {
  Plan small = plan;
  Chain part = chain;
  part.channels = 0;  // as im2col: the dimensions are shortened apart
  small.tile.value = {16, 16, 16, 16};
  for (const Dim dim : {Dim::m, Dim::n, Dim::k, Dim::l}) {
    const bool whole_k = dim == Dim::k && plan.way == GatedWay::split;
    // Clusters that share E add to it, which no activation follows.
    const bool whole = dim == Dim::k || (dim == Dim::n && !chain.sums_alone());
    const int64_t steps = whole && !plan.schedule.temporal(dim) ? 1 : 2;
    part.size[dim] = 16 * steps * (whole_k ? 1 : plan.shape.along(dim));
  }
  return check_plan_values(part, small, machine);
}

ValueCheck check_plan_values(const Chain& chain, const Plan& plan, const Machine& machine) {
  Program program = chain_program(chain);
  const FoundChain found = find_chains(program).at(0);
  const Analysis analysis = analyze(chain, plan, machine);
  attach_plan(program, found.statements, {}, lower_plan(found.form, chain, plan, analysis));
  Machine roomy = machine;  // values do not depend on it
  roomy.core.register_bytes = roomy.core.scratchpad_bytes = 0;
  const ProgramRun run = run_program(program, load_tensors(program), roomy, {});
  const TensorId e = found.form.store.tensor;
  const auto checked =
      check_reference(program, run.data, {e}, {.tolerance = kTolerance, .threads = 1}).tensors;
  const CheckedTensor& one = checked.at(0);
  return {one.passes, one.decided(), one.comparison.max_abs_error};
}

Choice choice_of(const Chain& chain, const Machine& machine, const Effort& effort, int threads) {
  struct OnlyChain : PlanListener {
    using PlanListener::on;
    void on(const Program& /*program*/, const FoundChain& /*found*/,
            const ChainOutcome& outcome) override {
      choices.push_back(outcome.choice);
    }
    std::vector<Choice> choices;
  } listener;
  Chain given = as_covered(chain, chain.actual());
  given.channels = 0;
  plan(chain_program(given), machine,
       {.strategy = PlanStrategy::choices, .effort = effort, .threads = threads}, listener);
  return listener.choices.at(0);
}

std::vector<Evaluation> evaluate(const std::vector<Chain>& chains, const Machine& machine,
                                 const Effort& effort, int threads) {
  std::vector<Evaluation> result(chains.size());
  std::vector<Task> tasks, checks;
  for (size_t i = 0; i < chains.size(); ++i) {
    Evaluation& one = result[i];
    one.chain = padded(chains[i]);
    for (Task& task : tasks_of(one, machine, effort, chains.size() == 1 ? threads : 1)) {
      tasks.push_back(std::move(task));
    }
    checks.emplace_back([&] {
      if (one.choice.fused().rank == 0) return;
      one.values = check_values(one.chain, one.choice.fused().plan.plan, machine);
    });
  }
  run_tasks(tasks, threads);
  run_tasks(checks, threads);
  return result;
}

std::string evaluation_header() {
  return "schema,workload,kind,machine,m,n,k,l,unfused_global_bytes,unfused_cycles,"
         "folded_global_bytes,folded_cycles,scratchpad_only,scratchpad_only_global_bytes,"
         "scratchpad_only_cycles,one_core,one_core_global_bytes,one_core_cycles,analyzer_cycles,"
         "random_cycles,"
         "linked,linked_global_bytes,linked_cycles,linked_link_bytes,global_ratio,speedup,"
         "folded_speedup,rank,plan,simulation,scale,checked,max_abs_error,fused_global_bytes,fused_"
         "cycles,fused_global_ratio,fused_speedup,fixed_global_bytes,fixed_cycles,"
         "fixed_global_ratio,fixed_speedup,unfused_least_bytes,fused_least_bytes,chosen,links_gain,"
         "chosen_speedup,plans_simulated,proven\n";
}

std::string evaluation_row(const Evaluation& e, const Machine& machine) {
  const Choice& choice = e.choice;
  const Measured& best = choice.linked.measure.measured;
  const Measured& fused = choice.fused().measure.measured;
  const Measured& apart = choice.separate;
  const Chain actual = as_covered(e.chain, e.chain.actual());  // padding is no plan's need
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{},{},"
      "{},{},{:.3f},{:.3f},{},{},{:.3f},{:.3f},{},{},{},{:.3f},{:.3f},{},{}\n",
      kCsvSchema, e.chain.name, name_of(e.chain.kind), machine.name, e.chain.size[Dim::m],
      e.chain.size[Dim::n], e.chain.size[Dim::k], e.chain.size[Dim::l], apart.bytes.global(),
      apart.cycles, choice.folded.bytes.global(), choice.folded.cycles,
      optional_plan(e.scratchpad_only), optional_plan(choice.one_core), e.analyzer_cycles,
      e.random_cycles, optional_plan(choice.linked), best.bytes.link,
      ratio(apart.bytes.global(), best.bytes.global()), ratio(apart.cycles, best.cycles),
      ratio(choice.folded.cycles, best.cycles), linked_cells(choice.linked), value_cells(e.values),
      fused.bytes.global(), fused.cycles, ratio(apart.bytes.global(), fused.bytes.global()),
      ratio(apart.cycles, fused.cycles), e.unfused_fixed.bytes.global(), e.unfused_fixed.cycles,
      ratio(e.unfused_fixed.bytes.global(), fused.bytes.global()),
      ratio(e.unfused_fixed.cycles, fused.cycles), least_bytes(actual, false, machine.has_l2()),
      least_bytes(actual, true), name_of(choice.way()), choice.links_gain(),
      ratio(choice.apart().cycles, choice.cycles()),
      choice.linked.log.simulated + choice.linked.even_log.simulated, proven_cell(choice.linked));
}

}  // namespace fuseflow::cluster
