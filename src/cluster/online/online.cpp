#include "cluster/online/online.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/common/given_formats.h"
#include "cluster/kernels/separate_kernels.h"
#include "cluster/online/open_scores.h"
#include "ir/copies.h"

namespace fuseflow::cluster {
namespace {

PlanNotes notes_of(const OnlineOutcome& o, const Machine& machine) {
  PlanNotes notes{{"kind", "online softmax"},
                  {"machine", machine.name},
                  {"tile", fmt::format("{},{},{}", o.tiles.block[kKernelM], o.tiles.block[kKernelN],
                                       o.tiles.block[kKernelK])},
                  {"copies", std::to_string(o.tiles.copies)},
                  {"cluster", std::to_string(o.tiles.cores)},
                  {"steps", std::to_string(o.tiles.steps)},
                  {"global_bytes", std::to_string(o.fused.bytes.global())},
                  {"cycles", std::to_string(o.fused.cycles)}};
  if (o.has_apart()) notes.emplace_back("apart", std::to_string(o.apart.total.cycles));
  if (o.tiles.parts > 1) notes.emplace_back("parts", std::to_string(o.tiles.parts));
  return notes;
}

Format dense_of(const Program& program, TensorId tensor) {
  return dense_format(program.tensors[static_cast<size_t>(tensor)].format.rank());
}

bool has_copy(const Program& program, TensorId tensor) {
  const std::string& name = program.tensors[static_cast<size_t>(tensor)].name;
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [&](const Tensor& other) { return other.copy_of == name; });
}

/// What the machine takes to make the copies that others do not need; those of constants are there.
int64_t copies_cycles(const Program& program, const OnlineForm& form, const Machine& machine) {
  int64_t cycles = 0;
  for (const TensorId t : form.as_copy) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    if (tensor.role != Role::input || has_copy(program, t)) continue;
    cycles += conversion_cycles(tensor, dense_of(program, t), machine);
    cycles += machine.reconfiguration_cycles;
  }
  return cycles;
}

/// What a kernel loads is dense: the tensor itself, or a copy where others read it, or have a copy
/// already.
void store_loaded(Program& program, const OnlineForm& form) {
  const std::vector<size_t> regions = regions_of(program, {form.result});
  const auto copy = [&](TensorId t) {
    const TensorId made = copy_as(program, t, dense_of(program, t), ".dense");
    for (const size_t r : regions) read_copy(program.regions[r], t, made);
  };
  for (const TensorId t : form.as_copy) copy(t);
  for (const TensorId t : form.as_dense) {
    if (has_copy(program, t)) {
      copy(t);
    } else {
      program.tensors[static_cast<size_t>(t)].format = dense_of(program, t);
    }
  }
}

/// Plans one form; the program changes only where it is taken.
void plan_form(Program& program, OnlineForm& form, const Machine& machine,
               const OnlineOptions& options, OnlineOutcome& outcome) {
  form.open = open_scores(program, form);
  std::optional<OnlinePlan> plan = fastest_online(form, machine, &outcome.spread);
  if (!plan) {
    outcome.why = "no tiles of it fit the machine";
    return;
  }
  outcome.tiles = plan->tiles;
  outcome.fused = plan->measured;
  outcome.apart =
      separate_kernels(program, form.members, machine, outcome.why).value_or(SeparateKernels{});
  outcome.kind = OnlineOutcome::Kind::slower;
  const int64_t cycles = plan->measured.cycles + copies_cycles(program, form, machine);
  const bool loses = outcome.has_apart() && cycles >= outcome.apart.total.cycles;
  if (loses && !options.accept_slower) return;
  outcome.members.insert(outcome.members.end(), form.unread.begin(), form.unread.end());
  outcome.put_in(program, notes_of(outcome, machine), std::move(plan->graph), false);
  if (outcome.taken()) store_loaded(program, form);
}

/// All statements' results of regions that are not lowered.
std::vector<TensorId> open_results(const Program& program) {
  std::vector<TensorId> results;
  for (const Region& region : program.regions) {
    if (region.graph) continue;
    const std::vector<TensorId> more = results_of(region);
    results.insert(results.end(), more.begin(), more.end());
  }
  return results;
}

}  // namespace

std::vector<OnlineOutcome> plan_online(Program& program, const Machine& machine,
                                       const OnlineOptions& options) {
  std::vector<OnlineOutcome> outcomes;
  for (const TensorId result : open_results(program)) {
    OnlineOutcome outcome;
    outcome.result = result;
    std::optional<OnlineForm> form;
    {
      const StatementTable statements(program);  // of the program as it is now
      form = online_form(statements, *statements.defining(result), outcome.why);
    }
    if (!form && outcome.why.empty()) continue;
    if (form) {
      outcome.members.assign(form->members.begin(), form->members.end());
      outcome.kind = OnlineOutcome::Kind::found;
      if (options.measure) {
        outcome.kind = OnlineOutcome::Kind::refused;
        plan_form(program, *form, machine, options, outcome);
      } else {
        outcome.spread = online_spread(*form, machine);
      }
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
