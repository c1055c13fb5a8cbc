#include "cluster/kernels/apart.h"

#include <algorithm>

#include "cluster/common/kernel_sequence.h"
#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"

namespace fuseflow::cluster {
namespace {

/// What statements beside these read of them.
std::set<TensorId> read_elsewhere(const Program& program, const std::set<TensorId>& members) {
  std::set<TensorId> found;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      if (members.count(s.result) != 0) continue;
      for (const Expr& node : s.nodes) {
        if (node.kind == Expr::Kind::access && members.count(node.tensor) != 0) {
          found.insert(node.tensor);
        }
      }
    }
  }
  return found;
}

/// The program with no other statements than these, nothing lowered or scheduled. What others read
/// is stored.
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
  for (const TensorId read : read_elsewhere(program, members)) {
    part.tensors[static_cast<size_t>(read)].role = Role::result;
  }
  store_dense(part);
  return part;
}

/// What the copies of inputs take that kernels read in another order than `before`.
int64_t copies_cycles(const Program& part, const std::vector<Tensor>& before,
                      const GivenFormats& given, const Machine& machine) {
  int64_t cycles = 0;
  for (const auto& [input, arrives] : given) {
    const Tensor& declared = before[static_cast<size_t>(input)];
    const Format& read = part.tensors[static_cast<size_t>(input)].format;
    if (read != declared.format) cycles += reordering_cycles(declared, arrives, read, machine);
  }
  return cycles;
}

/// All kernels of a program one after the other; nothing, and the reason, where a region is none.
std::optional<KernelsApart> apart_of(Program part, const Program& whole, const Machine& machine,
                                     std::string& why, const GivenFormats* given = nullptr) {
  const std::vector<Tensor> before = part.tensors;
  const KernelOptions options{
      .reorder_operands = given != nullptr, .given = given, .whole = &whole};
  const std::vector<RefusedKernel> refused = make_kernels(part, machine, options);
  if (!refused.empty()) {
    why = refused.front().why;
    return std::nullopt;
  }
  fold_kernels(part, machine);
  KernelSequence sequence(machine);
  for (const Region& region : part.regions) sequence.run(*region.graph);
  KernelsApart apart = sequence.apart();
  if (given != nullptr) apart.total.cycles += copies_cycles(part, before, *given, machine);
  return apart;
}

}  // namespace

std::optional<KernelsApart> kernels_apart(const Program& program, const std::set<TensorId>& members,
                                          const Machine& machine, std::string& why) {
  return apart_of(only(program, members), program, machine, why);
}

std::optional<KernelsApart> sparse_kernels_apart(const Program& program,
                                                 const std::vector<TensorId>& members,
                                                 const Machine& machine,
                                                 const GivenFormats& given) {
  Program part = only(program, {members.begin(), members.end()});
  if (!may_leave_tiles_out(part, program)) return std::nullopt;
  std::string why;
  return apart_of(std::move(part), program, machine, why, &given);
}

}  // namespace fuseflow::cluster
