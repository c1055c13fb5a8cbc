#include "cluster/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/chain/lower_plan.h"
#include "cluster/kernels/separate_kernels.h"
#include "ir/verify.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/unless_refused.h"

namespace fuseflow::cluster {
namespace {

/// The plan of a chain as notes on its region.
PlanNotes notes_of(const Chain& chain, const Machine& machine, const MeasuredPlan& best) {
  const Plan& p = best.plan.plan;
  const ClusterShape& s = p.shape;
  const auto four = [](auto a, auto b, auto c, auto d) {
    return fmt::format("{},{},{},{}", a, b, c, d);
  };
  PlanNotes notes = {{"kind", std::string(name_of(chain.kind))},
                     {"activation", std::string(name_of(chain.activation))},
                     {"extents", four(chain.size[Dim::m], chain.size[Dim::n], chain.size[Dim::k],
                                      chain.size[Dim::l])},
                     {"machine", machine.name},
                     {"loops", p.schedule.name()},
                     {"cluster", four(s.m, s.n, s.k, s.l)},
                     {"tile", four(p.tile[Dim::m], p.tile[Dim::n], p.tile[Dim::k], p.tile[Dim::l])},
                     {"way", std::string(name_of(p.way))},
                     {"clusters", std::to_string(best.plan.analysis.steps.clusters)},
                     {"global_bytes", std::to_string(best.measure.measured.bytes.global())},
                     {"link_bytes", std::to_string(best.measure.measured.bytes.link)},
                     {"cycles", std::to_string(best.measure.measured.cycles)}};
  // What reduced measurements were multiplied by: only then is `cycles` not what the region takes.
  if (best.measure.scale > 1) notes.emplace_back("scale", std::to_string(best.measure.scale));
  return notes;
}

class Planner {
 public:
  Planner(Program program, const Machine& machine, const PlanOptions& options,
          PlanListener& listener)
      : program_(std::move(program)),
        machine_(machine),
        options_(options),
        listener_(listener),
        // Where the machine has units for streams, products with compressed operands are left to
        // them.
        kernels_{.store_operands_dense = !machine.has_streams,
                 .reorder_operands = true,
                 .given = &options.given} {}

  Program run() {
    if (options_.strategy == PlanStrategy::choices) {
      for (const FoundChain& found : chains()) listener_.on(program_, found, searched(found, true));
    } else if (options_.strategy == PlanStrategy::none) {
      plan_apart();
    } else {
      plan_together();
    }
    require_sound(program_);
    return std::move(program_);
  }

 private:
  bool takes_rest() const { return options_.strategy == PlanStrategy::tiles; }

  void plan_apart() {
    divide();
    RemainingKernels rest;
    rest.divided = divide_products(program_, machine_, kernels_, Divide::where_faster);
    kernels_.sparse = &rest.sparse;
    kernels_.unproved = &rest.unproved;
    rest.refused = make_kernels(program_, machine_, kernels_);
    listener_.on(program_, rest);
  }

  void plan_together() {
    const auto softmaxes =
        plan_online(program_, machine_, {.accept_slower = options_.accept_slower});
    listener_.on(program_, softmaxes);
    const Program unchained = program_;
    std::vector<TensorId> taken;
    for (const FoundChain& found : chains()) {
      const ChainOutcome outcome = planned(found);
      if (outcome.taken()) taken.push_back(outcome.result);
      listener_.on(program_, found, outcome);
    }
    if (takes_rest() && !options_.accept_slower) {
      for (const DroppedChain& dropped :
           drop_slow_chains(program_, unchained, taken, machine_, kernels_)) {
        listener_.on(program_, dropped);
      }
    }
    plan_remaining();
  }

  void plan_remaining() {
    RemainingKernels rest;
    if (takes_rest()) {
      divide();
      rest = cluster::plan_remaining(program_, machine_, kernels_);
    } else {  // products and reductions of rows in one kernel: one product is no chain
      rest.combined.rows = plan_rows(program_, machine_, {.least_work = 2});
      rest.combined.second_products = plan_second_products(program_, machine_);
    }
    listener_.on(program_, rest);
  }

  void divide() { listener_.on(program_, divide_statements(program_, machine_, kernels_)); }

  std::vector<FoundChain> chains() const {
    std::vector<RefusedChain> refused;
    std::vector<FoundChain> chains = find_chains(program_, &refused);
    for (FoundChain& chain : chains) settle_chain_end(chain);
    sort_by_work(chains);
    listener_.on(program_, chains, refused);
    return chains;
  }

  /// More than sums after the second product needs all of a row of E in one cluster, so that a
  /// chain may be slower with it than one that ends before it and kernels of what that leaves.
  void settle_chain_end(FoundChain& longer) const {
    if (longer.shorter.empty()) return;
    FoundChain shorter = std::move(longer.shorter.front());
    longer.shorter.clear();
    std::set<TensorId> rest(longer.statements.begin(), longer.statements.end());
    for (const TensorId tensor : shorter.statements) rest.erase(tensor);
    std::string why;
    const auto kernels = separate_kernels(program_, rest, machine_, why);
    const auto part = plan_cycles(shorter);
    if (!kernels || !part) return;
    const auto whole = plan_cycles(longer);
    const int64_t apart = *part + machine_.reconfiguration_cycles + kernels->total.cycles;
    if (!whole || apart < *whole) longer = std::move(shorter);
  }

  /// Cycles of the fastest plan; nothing where none fits.
  std::optional<int64_t> plan_cycles(const FoundChain& found) const {
    const Chain chain = padded(found.chain);
    Choice choice;
    search(choice, chain, found.form, false);
    if (choice.fused().rank == 0) return std::nullopt;
    return choice.fused().measure.measured.cycles;
  }

  static ChainOutcome refused(const FoundChain& found, std::string why) {
    ChainOutcome outcome;
    outcome.chain = padded(found.chain);
    outcome.result = found.statements.back();
    outcome.members = found.statements;
    outcome.why = std::move(why);
    return outcome;
  }

  /// `apart`: kernels apart are searched by themselves, too.
  ChainOutcome searched(const FoundChain& found, bool apart) const {
    ChainOutcome outcome = refused(found, "no plan fits the machine");
    search(outcome.choice, padded(found.chain), found.form, apart);
    const MeasuredPlan& best = outcome.choice.fused();
    outcome.chain = chain_of(outcome.chain, best);
    if (best.rank > 0) outcome.kind = KernelOutcome::Kind::found;
    outcome.fused = best.measure.measured;
    return outcome;
  }

  /// The best plan of a chain is put into the program, unless its kernels apart are as fast: those
  /// that this program has without it, if there are such.
  ChainOutcome planned(const FoundChain& found) {
    std::string why;  // where no tile of one of its products fits a core by itself
    const std::set<TensorId> members(found.statements.begin(), found.statements.end());
    const auto folded = separate_kernels(program_, members, machine_, why);
    const auto tried =
        unless_refused([&] { return std::optional(searched(found, !folded)); }, &why);
    ChainOutcome outcome = tried ? *tried : refused(found, why);
    if (folded) {
      std::string unread;
      outcome.choice.folded = folded->total;
      outcome.choice.separate =
          separate_kernels(program_, members, machine_, unread, Fold::never)->total;
    }
    if (outcome.kind == KernelOutcome::Kind::refused) return outcome;
    const auto sparse =
        separate_sparse_kernels(program_, found.statements, machine_, options_.given);
    if (sparse) outcome.leaving_out = sparse->total.cycles;
    const MeasuredPlan& best = outcome.choice.fused();
    outcome.kind = KernelOutcome::Kind::slower;
    if (outcome.loses() && !options_.accept_slower) return outcome;
    outcome.put_in(program_, notes_of(outcome.chain, machine_, best),
                   lower_plan(found.form, outcome.chain, best.plan.plan, best.plan.analysis),
                   false);
    return outcome;
  }

  void search(Choice& choice, const Chain& chain, const ChainForm& form, bool apart) const {
    run_tasks(choice_tasks(choice, chain, machine_, options_.effort, &form, apart),
              options_.threads);
  }

  Program program_;
  const Machine& machine_;
  const PlanOptions& options_;
  PlanListener& listener_;
  KernelOptions kernels_;
};

}  // namespace

Program plan(Program program, const Machine& machine, const PlanOptions& options,
             PlanListener& listener) {
  return Planner(std::move(program), machine, options, listener).run();
}

namespace {

/// `rows`: what became of runs of rows; where one is taken, that is the way.
ChosenProgram measured(Program program, Way way, const std::vector<RowsOutcome>& rows,
                       const Machine& machine) {
  const bool taken =
      std::any_of(rows.begin(), rows.end(), [](const RowsOutcome& o) { return o.taken(); });
  const int64_t cycles = tiles_cycles(program, machine) - machine.reconfiguration_cycles;
  return {std::move(program), taken ? Way::rows : way, cycles};
}

std::optional<ChosenProgram> with_kernels_apart(const Chain& chain, const Machine& machine) {
  Program program = chain_program(chain);
  const RemainingKernels rest = plan_remaining(
      program, machine, {.store_operands_dense = !machine.has_streams, .reorder_operands = true});
  if (!rest.refused.empty()) return std::nullopt;
  const bool folded =
      std::any_of(program.regions.begin(), program.regions.end(),
                  [](const Region& region) { return region.statements.size() > 1; });
  return measured(std::move(program), folded ? Way::folded : Way::separate, rest.combined.rows,
                  machine);
}

std::optional<ChosenProgram> with_plan(const Chain& chain, const Choice& choice,
                                       const Machine& machine) {
  const MeasuredPlan& best = choice.fused();
  if (best.rank == 0) return std::nullopt;
  Program program = chain_program(chain);
  const Chain covered = chain_of(padded(chain), best);
  const std::vector<FoundChain> found = find_chains(program);
  if (found.size() != 1 ||
      !attach_plan(program, found.front().statements, notes_of(covered, machine, best),
                   lower_plan(found.front().form, covered, best.plan.plan, best.plan.analysis))) {
    throw Error(ExitCode::internal,
                fmt::format("chain {} is not found in its own program", chain.name));
  }
  const Way way = &best == &choice.linked ? Way::linked : Way::one_core;
  // What takes too long to be simulated in full is not compared with rows, either.
  if (best.measure.scale > 1) return ChosenProgram{program, way, best.measure.measured.cycles};
  const std::vector<RowsOutcome> rows = plan_rows(program, machine, {.least_work = 2});
  return measured(std::move(program), way, rows, machine);
}

}  // namespace

std::optional<ChosenProgram> plan_chosen(const Chain& chain, const Choice& choice,
                                         const Machine& machine) {
  std::optional<ChosenProgram> chosen = with_kernels_apart(chain, machine);
  std::optional<ChosenProgram> fused = with_plan(chain, choice, machine);
  if (fused && (!chosen || fused->cycles < chosen->cycles)) chosen = std::move(fused);
  if (chosen) require_sound(chosen->program);
  return chosen;
}

void sort_by_work(std::vector<FoundChain>& chains) {
  const auto work = [](const FoundChain& f) {
    const Extents& s = f.chain.size;
    return static_cast<double>(s[Dim::m]) * static_cast<double>(s[Dim::n]) *
           static_cast<double>(s[Dim::k] + s[Dim::l]);
  };
  std::stable_sort(chains.begin(), chains.end(),
                   [&](const FoundChain& a, const FoundChain& b) { return work(a) > work(b); });
}

void require_sound(const Program& planned) {
  try {
    verify(planned);
  } catch (const Error& error) {
    throw Defect(fmt::format("the planned program would be refused: {}",
                             error.diagnostics().front().message));
  }
}

}  // namespace fuseflow::cluster
