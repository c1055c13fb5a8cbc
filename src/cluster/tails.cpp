#include "cluster/tails.h"

#include <optional>
#include <set>
#include <string>

#include "cluster/chain/choice.h"
#include "cluster/kernels/apart.h"

namespace fuseflow::cluster {
namespace {

/// Cycles of the fastest plan; nothing where none fits.
std::optional<int64_t> plan_cycles(const FoundChain& found, const Machine& machine,
                                   const Effort& effort, int threads) {
  const Chain chain = padded(found.chain);
  Choice choice;
  run_tasks(plan_tasks(choice, chain, machine, effort, &found.form), threads);
  if (choice.fused().rank == 0) return std::nullopt;
  return choice.fused().measure.measured.cycles;
}

/// ... and of the kernels of the statements that only the longer form has.
std::optional<int64_t> cycles_with_rest(const Program& program, const FoundChain& shorter,
                                        const FoundChain& longer, const Machine& machine,
                                        const Effort& effort, int threads) {
  std::set<TensorId> rest(longer.statements.begin(), longer.statements.end());
  for (const TensorId tensor : shorter.statements) rest.erase(tensor);
  std::string why;
  const auto kernels = kernels_apart(program, rest, machine, why);
  const auto plan = plan_cycles(shorter, machine, effort, threads);
  if (!kernels || !plan) return std::nullopt;
  return *plan + machine.reconfiguration_cycles + kernels->total.cycles;
}

}  // namespace

std::vector<FoundChain> with_fastest_tails(const Program& program, std::vector<FoundChain> chains,
                                           const Machine& machine, const Effort& effort,
                                           int threads) {
  for (FoundChain& longer : chains) {
    if (longer.shorter.empty()) continue;
    FoundChain shorter = std::move(longer.shorter.front());
    longer.shorter.clear();
    const auto apart = cycles_with_rest(program, shorter, longer, machine, effort, threads);
    if (!apart) continue;
    const auto whole = plan_cycles(longer, machine, effort, threads);
    if (!whole || *apart < *whole) longer = std::move(shorter);
  }
  return chains;
}

}  // namespace fuseflow::cluster
