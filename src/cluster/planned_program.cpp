#include "cluster/planned_program.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "cluster/chain/lower_plan.h"
#include "cluster/kernels/apart.h"
#include "cluster/kernels/kernels.h"
#include "cluster/online/online.h"
#include "cluster/rest.h"
#include "cluster/tails.h"
#include "ir/verify.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

/// Puts the best plan of a chain into the program, unless its kernels apart are as fast.
bool plan_chain(Program& program, const FoundChain& found, const GivenFormats& given,
                const Machine& machine, const Effort& effort, int threads) {
  const Chain chain = padded(found.chain);
  const Choice choice = choose(chain, machine, effort, &found.form, threads);
  const MeasuredPlan& best = choice.fused();
  if (best.rank == 0) return false;
  const ChainRivals rivals = rivals_of(program, found, choice, given, machine);
  if (rivals.win(best.measure.measured.cycles)) return false;
  const Chain covered = chain_of(chain, best);
  return attach_plan(program, found, plan_notes(covered, machine, best),
                     lower_plan(found.form, covered, best.plan.plan, best.plan.analysis));
}

}  // namespace

ChainRivals rivals_of(const Program& program, const FoundChain& found, const Choice& choice,
                      const GivenFormats& given, const Machine& machine) {
  ChainRivals rivals;
  std::string why;
  const std::set<TensorId> members(found.statements.begin(), found.statements.end());
  const auto kernels = kernels_apart(program, members, machine, why);
  rivals.kernels = kernels ? kernels->total.cycles : choice.apart().cycles;
  const auto sparse = sparse_kernels_apart(program, found.statements, machine, given);
  if (sparse) rivals.leaving_out = sparse->total.cycles;
  return rivals;
}

PlanNotes plan_notes(const Chain& chain, const Machine& machine, const MeasuredPlan& best) {
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
                     {"clusters", std::to_string(best.plan.analysis.trips.clusters)},
                     {"global_bytes", std::to_string(best.measure.measured.bytes.global())},
                     {"link_bytes", std::to_string(best.measure.measured.bytes.link)},
                     {"cycles", std::to_string(best.measure.measured.cycles)}};
  // What reduced measurements were multiplied by: only then is `cycles` not what the region takes.
  if (best.measure.scale > 1) notes.emplace_back("scale", std::to_string(best.measure.scale));
  return notes;
}

void require_sound(const Program& planned) {
  try {
    verify(planned);
  } catch (const Error& error) {
    throw Error(ExitCode::internal, fmt::format("the planned program would be refused: {}",
                                                error.diagnostics().front().message));
  }
}

Program kernels_apart(Program program, const GivenFormats& given, const Machine& machine) {
  make_kernels(program, machine, {.reorder_operands = true, .given = &given});
  require_sound(program);
  return program;
}

Program planned_program(Program program, const GivenFormats& given, const Machine& machine,
                        const Effort& effort, int threads) {
  plan_online(program, machine, {});
  const Program unchained = program;
  std::vector<TensorId> chains;
  const std::vector<FoundChain> all =
      with_fastest_tails(program, find_chains(program), machine, effort, threads);
  for (const FoundChain& found : all) {
    if (plan_chain(program, found, given, machine, effort, threads)) {
      chains.push_back(found.statements.back());
    }
  }
  const KernelOptions options{.reorder_operands = true, .given = &given};
  drop_slow_chains(program, unchained, chains, machine, options);
  plan_rest(program, machine, options);
  require_sound(program);
  return program;
}

}  // namespace fuseflow::cluster
