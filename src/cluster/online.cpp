#include "cluster/online.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/open_scores.h"
#include "cluster/recognize.h"

namespace fuseflow::cluster {
namespace {

std::vector<std::pair<std::string, std::string>> notes_of(const OnlineOutcome& o,
                                                          const Machine& machine) {
  return {{"kind", "online softmax"},
          {"machine", machine.name},
          {"tile", fmt::format("{},{},{}", o.tiles.block[kKernelM], o.tiles.block[kKernelN],
                               o.tiles.block[kKernelK])},
          {"copies", std::to_string(o.tiles.copies)},
          {"cluster", std::to_string(o.tiles.cores)},
          {"steps", std::to_string(o.tiles.steps)},
          {"global_bytes", std::to_string(o.fused.bytes.global())},
          {"cycles", std::to_string(o.fused.cycles)},
          {"apart", std::to_string(o.apart.total.cycles)}};
}

/// Plans one form; the program changes only where it is taken.
void plan_form(Program& program, OnlineForm& form, const Machine& machine,
               const OnlineOptions& options, OnlineOutcome& outcome) {
  form.open = open_scores(program, form);
  std::optional<OnlinePlan> plan = fastest_online(form, machine);
  if (!plan) {
    outcome.why = "no tiles of it fit the machine";
    return;
  }
  const auto apart = kernels_apart(program, form.members, machine, outcome.why);
  if (!apart) return;
  outcome.tiles = plan->tiles;
  outcome.fused = plan->measured;
  outcome.apart = *apart;
  outcome.kind = OnlineOutcome::Kind::slower;
  if (plan->measured.cycles >= apart->total.cycles && !options.accept_slower) return;
  std::vector<TensorId> members(form.members.begin(), form.members.end());
  members.insert(members.end(), form.unread.begin(), form.unread.end());
  if (!attach_plan(program, members, notes_of(outcome, machine), std::move(plan->graph))) {
    outcome.kind = OnlineOutcome::Kind::refused;
    outcome.why = "its statements share regions with others or are scheduled";
    return;
  }
  for (const TensorId t : form.as_dense) {
    Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    tensor.format = dense_format(tensor.format.rank());
  }
  outcome.kind = OnlineOutcome::Kind::taken;
}

/// All statements' results of regions that are not lowered.
std::vector<TensorId> open_results(const Program& program) {
  std::vector<TensorId> results;
  for (const Region& region : program.regions) {
    if (region.graph) continue;
    for (const Statement& s : region.statements) results.push_back(s.result);
  }
  return results;
}

const Statement& statement_of(const Program& program, TensorId result) {
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      if (s.result == result) return s;
    }
  }
  return program.regions.front().statements.front();  // not reached: results are of statements
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
      form = online_form(statements, statement_of(program, result), outcome.why);
    }
    if (!form && outcome.why.empty()) continue;
    if (form) {
      outcome.members = form->members;
      outcome.kind = OnlineOutcome::Kind::found;
      if (options.measure) {
        outcome.kind = OnlineOutcome::Kind::refused;
        plan_form(program, *form, machine, options, outcome);
      }
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
