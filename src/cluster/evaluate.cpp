#include "cluster/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>

#include "cluster/lower_plan.h"
#include "cluster/recognize.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "support/csv.h"
#include "support/on_threads.h"

namespace fuseflow::cluster {
namespace {

constexpr double kTolerance = 1e-4;

MeasuredPlan best_of(const Chain& chain, const Machine& machine, int top, Holding holding) {
  SearchOptions options;
  options.top = top;
  options.holding = holding;
  return measure_best(chain, search(chain, machine, options).best, machine);
}

int64_t median_random_cycles(const Chain& chain, const Machine& machine, int plans,
                             Holding holding) {
  std::vector<ScaledMeasure> measures;
  measure_best(chain, random_plans(chain, machine, {plans, 1, holding}), machine, &measures);
  std::vector<int64_t> cycles;
  cycles.reserve(measures.size());
  for (const ScaledMeasure& measure : measures) {
    cycles.push_back(measure.measured.cycles);
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles.empty() ? 0 : cycles[cycles.size() / 2];
}

double ratio(int64_t of, int64_t to) {
  return to == 0 ? 0 : static_cast<double>(of) / static_cast<double>(to);
}

using Task = std::function<void()>;

/// What an evaluation consists of; none needs another's result.
std::vector<Task> tasks_of(Evaluation& result, const Machine& machine, int top) {
  const Chain& chain = result.chain;
  return {
      [&, top] { result.unfused = unfused(chain, machine, top, Kernels::separate); },
      [&, top] { result.unfused_folded = unfused(chain, machine, top, Kernels::folded); },
      [&, top] { result.unfused_fixed = unfused(chain, machine, top, Kernels::fixed); },
      [&, top] { result.scratchpad_only = best_of(chain, machine, top, Holding::scratchpad); },
      [&, top] { result.one_core = best_of(chain, machine, top, Holding::one_core); },
      [&, top] {
        result.analyzer_cycles = median_random_cycles(chain, machine, top, Holding::one_core);
      },
      [&, top] {
        result.random_cycles = median_random_cycles(chain, machine, top, Holding::linked);
      },
      [&, top] {
        result.linked = best_of(chain, machine, top, Holding::linked);
        if (result.linked.rank == 0) return;
        result.values = check_values(chain, result.linked.plan.plan, machine);
      },
  };
}

/// Runs all tasks, one at a time on each thread: they differ a thousandfold in size. Of several
/// errors the first task's is thrown, whichever came first.
void run_tasks(const std::vector<Task>& tasks, int threads) {
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
    const int64_t steps = dim == Dim::k && !plan.schedule.temporal(Dim::k) ? 1 : 2;
    part.size[dim] = 16 * steps * (whole_k ? 1 : plan.shape.along(dim));
  }
  return check_plan_values(part, small, machine);
}

ValueCheck check_plan_values(const Chain& chain, const Plan& plan, const Machine& machine) {
  Program program = chain_program(chain);
  const FoundChain found = find_chains(program).at(0);
  const Analysis analysis = analyze(chain, plan, machine);
  attach_plan(program, found, {}, lower_plan(found.form, chain, plan, analysis));
  Machine roomy = machine;  // values do not depend on it
  roomy.core.register_bytes = roomy.core.scratchpad_bytes = 0;
  const ProgramRun run = run_program(program, load_tensors(program), roomy, {});
  const TensorId e = found.form.store.tensor;
  const auto checked =
      check_reference(program, run.data, {e}, {.tolerance = kTolerance, .threads = 1}).tensors;
  return {checked.at(0).passes, checked.at(0).comparison.max_abs_error};
}

std::vector<Evaluation> evaluate(const std::vector<Chain>& chains, const Machine& machine, int top,
                                 int threads) {
  std::vector<Evaluation> result(chains.size());
  std::vector<Task> tasks;
  for (size_t i = 0; i < chains.size(); ++i) {
    result[i].chain = padded(chains[i]);
    const std::vector<Task> more = tasks_of(result[i], machine, top);
    tasks.insert(tasks.end(), more.begin(), more.end());
  }
  run_tasks(tasks, threads);
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
         "fixed_global_ratio,fixed_speedup,unfused_least_bytes,fused_least_bytes,chosen\n";
}

std::string evaluation_row(const Evaluation& e, const Machine& machine) {
  const Measured& best = e.linked.measure.measured;
  const Measured& single = e.one_core.measure.measured;
  const bool alone = e.one_core.rank > 0 && (e.linked.rank == 0 || single.cycles < best.cycles);
  const Measured& fused = alone ? single : best;  // what fuseflow-cluster chooses
  std::string plan = describe(e.linked.plan.plan);
  std::replace(plan.begin(), plan.end(), ',', 'x');
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{},{},{},{},{},"
      "{:.3g},{},{},{:.3f},{:.3f},{},{},{:.3f},{:.3f},{},{},{}\n",
      kCsvSchema, e.chain.name, name_of(e.chain.kind), machine.name, e.chain.size[Dim::m],
      e.chain.size[Dim::n], e.chain.size[Dim::k], e.chain.size[Dim::l], e.unfused.bytes.global(),
      e.unfused.cycles, e.unfused_folded.bytes.global(), e.unfused_folded.cycles,
      optional_plan(e.scratchpad_only), optional_plan(e.one_core), e.analyzer_cycles,
      e.random_cycles, optional_plan(e.linked), best.bytes.link,
      ratio(e.unfused.bytes.global(), best.bytes.global()), ratio(e.unfused.cycles, best.cycles),
      ratio(e.unfused_folded.cycles, best.cycles), e.linked.rank, plan,
      e.linked.measure.scale == 1 ? "full" : "reduced", e.linked.measure.scale,
      e.values.passed ? "ok" : "wrong", e.values.max_abs_error, fused.bytes.global(), fused.cycles,
      ratio(e.unfused.bytes.global(), fused.bytes.global()), ratio(e.unfused.cycles, fused.cycles),
      e.unfused_fixed.bytes.global(), e.unfused_fixed.cycles,
      ratio(e.unfused_fixed.bytes.global(), fused.bytes.global()),
      ratio(e.unfused_fixed.cycles, fused.cycles), least_bytes(e.chain, false),
      least_bytes(e.chain, true),
      fused.cycles >= e.unfused.cycles ? "unfused"
      : alone                          ? "one_core"
                                       : "linked");
}

}  // namespace fuseflow::cluster
