#include "cluster/apart.h"

#include <algorithm>

#include "cluster/kernel_sequence.h"
#include "cluster/kernels.h"

namespace fuseflow::cluster {
namespace {

/// The program with no other statements than these, nothing lowered or scheduled.
Program only(const Program& program, const std::set<TensorId>& members) {
  Program part = program;
  for (Region& region : part.regions) {
    std::erase_if(region.statements,
                  [&](const Statement& s) { return members.count(s.result) == 0; });
    region.schedule = {};
    region.graph.reset();
    region.plan.clear();
  }
  std::erase_if(part.regions, [](const Region& region) { return region.statements.empty(); });
  store_dense(part);
  return part;
}

/// All kernels of a program one after the other; nothing, and the reason, where a region is none.
std::optional<KernelsApart> apart_of(Program part, const Program& whole, const Machine& machine,
                                     std::string& why, bool reorder = false) {
  const KernelOptions options{.reorder_operands = reorder, .whole = &whole};
  const std::vector<RefusedKernel> refused = make_kernels(part, machine, options);
  if (!refused.empty()) {
    why = refused.front().why;
    return std::nullopt;
  }
  KernelSequence sequence(machine);
  for (const Region& region : part.regions) sequence.run(*region.graph);
  return sequence.apart();
}

}  // namespace

std::optional<KernelsApart> kernels_apart(const Program& program, const std::set<TensorId>& members,
                                          const Machine& machine, std::string& why) {
  return apart_of(only(program, members), program, machine, why);
}

std::optional<KernelsApart> sparse_kernels_apart(const Program& program,
                                                 const std::vector<TensorId>& members,
                                                 const Machine& machine, bool reorder) {
  Program part = only(program, {members.begin(), members.end()});
  if (!may_leave_tiles_out(part, program)) return std::nullopt;
  std::string why;
  return apart_of(std::move(part), program, machine, why, reorder);
}

}  // namespace fuseflow::cluster
