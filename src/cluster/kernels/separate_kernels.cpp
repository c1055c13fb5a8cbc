#include "cluster/kernels/separate_kernels.h"

#include <algorithm>

#include "cluster/common/statement_table.h"
#include "cluster/kernels/divide.h"
#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"

namespace fuseflow::cluster {
namespace {

/// No other statements than these, nothing lowered or scheduled.
Program only(const Program& program, const std::set<TensorId>& members) {
  Program part = part_of(program, members);
  for (Region& region : part.regions) {
    region.schedule = {};
    region.graph.reset();
    region.plan.clear();
  }
  store_dense(part);
  return part;
}

/// Divides statements of several reductions of a part; the whole program gets the new tensors, too,
/// of which it then says nothing.
void divide_part(Program& part, Program& whole, const Machine& machine) {
  divide_statements(part, machine);
  for (size_t t = whole.tensors.size(); t < part.tensors.size(); ++t) {
    whole.tensors.push_back(part.tensors[t]);
  }
}

/// All kernels of a program one after the other; nothing, and the reason, where a region is none.
std::optional<SeparateKernels> apart_of(Program part, Program whole, const Machine& machine,
                                        std::string& why, Fold fold,
                                        const GivenFormats* given = nullptr) {
  divide_part(part, whole, machine);
  const std::vector<Tensor> before = part.tensors;
  const KernelOptions options{
      .reorder_operands = given != nullptr, .given = given, .whole = &whole};
  const std::vector<RefusedKernel> refused = make_kernels(part, machine, options);
  if (!refused.empty()) {
    why = refused.front().why;
    return std::nullopt;
  }
  if (fold == Fold::where_faster) fold_kernels(part, machine);
  KernelSequence sequence(machine);
  for (const Region& region : part.regions) sequence.run(*region.graph);
  SeparateKernels apart = sequence.apart();
  if (given != nullptr) {
    apart.total.cycles += reordering_cycles(before, *given, part.tensors, machine);
  }
  return apart;
}

}  // namespace

std::optional<SeparateKernels> separate_kernels(const Program& program,
                                                const std::set<TensorId>& members,
                                                const Machine& machine, std::string& why,
                                                Fold fold) {
  return apart_of(only(program, members), program, machine, why, fold);
}

std::optional<SeparateKernels> separate_sparse_kernels(const Program& program,
                                                       const std::vector<TensorId>& members,
                                                       const Machine& machine,
                                                       const GivenFormats& given) {
  Program part = only(program, {members.begin(), members.end()});
  if (!may_leave_tiles_out(part, program)) return std::nullopt;
  std::string why;
  return apart_of(std::move(part), program, machine, why, Fold::where_faster, &given);
}

}  // namespace fuseflow::cluster
