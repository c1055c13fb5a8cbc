#include "cluster/kernels/fold.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/kernels/groups.h"
#include "cluster/kernels/kernels.h"
#include "graph/tile_kernel.h"

namespace fuseflow::cluster {
namespace {

/// A kernel as kernels.h makes it: of one statement and what was folded into it.
bool is_plain_kernel(const Region& region) {
  if (region.statements.empty() || !region.graph || !region.graph->tiles) return false;
  if (!is_tile_kernel(*region.graph) || has_second_product(*region.graph)) return false;
  return !kernel_roles(*region.graph).held();
}

/// The program with all of its plain kernels in the first region.
Program gathered_kernels(const Program& program) {
  Program part = program;
  Region all;
  std::erase_if(part.regions, [&](Region& region) {
    if (!is_plain_kernel(region)) return false;
    for (Statement& s : region.statements) all.statements.push_back(std::move(s));
    return true;
  });
  part.regions.insert(part.regions.begin(), std::move(all));
  return part;
}

/// The group as a region by itself, with the graph of its fastest kernel; nothing where no tiles
/// of it fit.
std::optional<Region> one_kernel(const Program& program, const KernelGroup& group,
                                 const Machine& machine) {
  Program part = program;
  Region region;
  region.name = "folded";
  for (const Statement* s : group.members) region.statements.push_back(*s);
  part.regions = {std::move(region)};
  const KernelOptions options{.fold_products = true, .whole = &program};
  if (!make_kernels(part, machine, options).empty() || part.regions.size() != 1) {
    return std::nullopt;
  }
  return std::move(part.regions.front());
}

}  // namespace

std::vector<KernelOutcome> fold_kernels(Program& program, const Machine& machine) {
  const Program part = gathered_kernels(program);
  std::vector<KernelOutcome> outcomes;
  for (const KernelGroup& group : kernel_groups(part, 0, true)) {
    KernelOutcome outcome;
    outcome.kind = KernelOutcome::Kind::slower;
    outcome.result = group.root->result;
    for (const Statement* s : group.members) outcome.members.push_back(s->result);
    const std::vector<size_t> regions = regions_of(program, outcome.members);
    if (regions.size() < 2) continue;
    std::optional<Region> folded = one_kernel(program, group, machine);
    if (!folded) continue;
    KernelSequence apart(machine), fused(machine);
    for (const size_t r : regions) apart.run(*program.regions[r].graph);
    fused.run(*folded->graph);
    outcome.apart = apart.apart();
    outcome.fused = fused.apart().total;
    if (outcome.fused.cycles < outcome.apart.total.cycles) {
      outcome.put_in(program, folded->plan, std::move(*folded->graph), true);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
