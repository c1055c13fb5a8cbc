#include "cluster/kernels/groups.h"

#include <set>
#include <string>

#include "cluster/common/statement_table.h"
#include "cluster/kernels/form.h"

namespace fuseflow::cluster {
namespace {

class StatementGrouper {
 public:
  StatementGrouper(const Program& program, size_t region, bool fold_products)
      : program_(program),
        region_(region),
        fold_products_(fold_products),
        statements_(program, program.regions[region]) {}

  std::vector<KernelGroup> run() {
    const std::vector<Statement>& all = program_.regions[region_].statements;
    for (size_t i = all.size(); i-- > 0;) root_of_[all[i].result] = root_for(all[i]);
    std::vector<KernelGroup> groups;
    for (const Statement& root : all) {
      if (root_of_.at(root.result) == root.result) groups.push_back(group_of(root));
    }
    return groups;
  }

 private:
  /// Those of the region that are known to have a root so far.
  KernelGroup group_of(const Statement& root) const {
    KernelGroup group{&root, {}};
    for (const Statement& s : program_.regions[region_].statements) {
      const auto known = root_of_.find(s.result);
      if (known != root_of_.end() && known->second == root.result) group.members.push_back(&s);
    }
    return group;
  }

  /// The statement's own, or that of the kernel that reads each of its elements once at most.
  TensorId root_for(const Statement& s) const {
    const bool folds = !reduces(s) || fold_products_;
    if (!folds || !is_internal(program_, region_, s.result)) return s.result;
    std::set<TensorId> roots;  // all that read it are in the region
    for (const TensorId user : statements_.readers(s.result)) {
      if (!reads_plainly(*statements_.defining(user), s.result)) return s.result;
      roots.insert(root_of_.at(user));
    }
    if (roots.size() != 1) return s.result;
    return !reduces(s) || has_form_with(*roots.begin(), s) ? *roots.begin() : s.result;
  }

  /// Has the group of a root still the form of a kernel with one statement more?
  bool has_form_with(TensorId root, const Statement& more) const {
    KernelGroup group = group_of(*statements_.defining(root));
    group.members.insert(group.members.begin(), &more);
    std::string why;
    return kernel_form(program_, *group.root, folded_into(group), why).has_value();
  }

  /// The user is elementwise, and reads at its own loops, all of them, each element once.
  bool reads_plainly(const Statement& user, TensorId read) const {
    if (reduces(user)) return false;
    for (const Expr& node : user.nodes) {
      if (node.kind != Expr::Kind::access || node.tensor != read) continue;
      if (node.subscripts.size() != user.result_indices.size()) return false;
      const std::vector<Extent>& shape = program_.tensors[static_cast<size_t>(read)].shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        const Subscript& at = node.subscripts[d];
        // Outside of its extents it has its fill, not what its statement would give.
        if (!at.is_plain() || loop_extent(program_, user, at.plain()) > shape[d].value)
          return false;
      }
    }
    return true;
  }

  const Program& program_;
  const size_t region_;
  const bool fold_products_;
  const StatementTable statements_;
  std::map<TensorId, TensorId> root_of_;
};

}  // namespace

std::vector<KernelGroup> kernel_groups(const Program& program, size_t region, bool fold_products) {
  return StatementGrouper(program, region, fold_products).run();
}

std::map<TensorId, const Statement*> folded_into(const KernelGroup& group) {
  std::map<TensorId, const Statement*> folded;
  for (const Statement* s : group.members) {
    if (s != group.root) folded[s->result] = s;
  }
  return folded;
}

}  // namespace fuseflow::cluster
