#include "cluster/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cluster/kernel_form.h"
#include "cluster/kernel_tiles.h"
#include "ir/names.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow::cluster {
namespace {

/// Statements of a region that become one kernel: the last of them, and what is folded into it.
struct Group {
  const Statement* root = nullptr;
  std::vector<const Statement*> members;  ///< in the region's order, the root last
};

bool elementwise(const Statement& s) {
  return std::none_of(s.nodes.begin(), s.nodes.end(),
                      [](const Expr& node) { return node.kind == Expr::Kind::reduce; });
}

class Grouping {
 public:
  Grouping(const Program& program, size_t region) : program_(program), region_(region) {
    for (const Region& other : program.regions) {
      for (const Statement& s : other.statements) {
        for (const Expr& node : s.nodes) {
          if (node.kind == Expr::Kind::access) users_[node.tensor].insert(s.result);
        }
      }
    }
  }

  /// Groups in the order of their roots.
  std::vector<Group> run() {
    const std::vector<Statement>& all = program_.regions[region_].statements;
    for (size_t i = all.size(); i-- > 0;) root_of_[all[i].result] = root_for(all[i]);
    std::vector<Group> groups;
    for (const Statement& root : all) {
      if (root_of_.at(root.result) != root.result) continue;
      Group group{&root, {}};
      for (const Statement& s : all) {
        if (root_of_.at(s.result) == root.result) group.members.push_back(&s);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  /// The statement's own, or that of the kernel that reads each of its elements once at most.
  TensorId root_for(const Statement& s) const {
    const auto users = users_.find(s.result);
    if (!elementwise(s) || !is_internal(program_, region_, s.result) || users == users_.end()) {
      return s.result;
    }
    std::set<TensorId> roots;
    for (const TensorId user : users->second) {
      if (!reads_plainly(user, s.result)) return s.result;
      roots.insert(root_of_.at(user));
    }
    return roots.size() == 1 ? *roots.begin() : s.result;
  }

  /// The user is elementwise, and reads at its own loops, all of them.
  bool reads_plainly(TensorId user, TensorId read) const {
    for (const Statement& s : program_.regions[region_].statements) {
      if (s.result != user) continue;
      if (!elementwise(s)) return false;
      for (const Expr& node : s.nodes) {
        if (node.kind != Expr::Kind::access || node.tensor != read) continue;
        if (node.subscripts.size() != s.result_indices.size()) return false;
        for (const Subscript& at : node.subscripts) {
          if (!at.is_plain()) return false;
        }
      }
      return true;
    }
    return false;
  }

  const Program& program_;
  const size_t region_;
  std::map<TensorId, std::set<TensorId>> users_;
  std::map<TensorId, TensorId> root_of_;
};

bool has_schedule(const Region& region) {
  const Schedule& s = region.schedule;
  return !s.order.empty() || !s.placements.empty() || !s.parallel.empty();
}

/// One region for each group; nothing, and the reason, where one has no form.
std::optional<std::vector<Region>> kernels_of(const Program& program, size_t region,
                                              const Machine& machine, std::string& why) {
  std::vector<Region> made;
  for (const Group& group : Grouping(program, region).run()) {
    std::map<TensorId, const Statement*> folded;
    for (const Statement* s : group.members) {
      if (s != group.root) folded[s->result] = s;
    }
    const std::string name = program.tensors[static_cast<size_t>(group.root->result)].name;
    const auto form = kernel_form(program, *group.root, folded, why);
    std::optional<Graph> graph = form ? fastest_kernel(*form, machine) : std::nullopt;
    if (!graph) {
      why = fmt::format("%{}: {}", quote_if_needed(name),
                        form ? "no tiles of it fit the machine" : why);
      return std::nullopt;
    }
    Region kernel;
    kernel.name = name;
    kernel.where = program.regions[region].where;
    for (const Statement* s : group.members) kernel.statements.push_back(*s);
    kernel.graph = std::move(graph);
    made.push_back(std::move(kernel));
  }
  made.back().name = program.regions[region].name;
  return made;
}

void name_apart(std::vector<Region>& regions) {
  std::set<std::string> names;
  for (Region& region : regions) {
    region.name = unused_name(region.name, "_", 1,
                              [&](const std::string& name) { return names.count(name) != 0; });
    names.insert(region.name);
  }
}

}  // namespace

void store_dense(Program& program) {
  for (const Region& region : program.regions) {
    if (!region.graph || region.graph->tiles) continue;
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} is lowered to streams, which read its tensors by levels; "
                            "expected a program that is not lowered",
                            quote_if_needed(region.name)));
  }
  for (Tensor& tensor : program.tensors) {
    if (!tensor.format.all_dense()) tensor.format = dense_format(tensor.format.rank());
  }
}

std::vector<RefusedKernel> make_kernels(Program& program, const Machine& machine) {
  std::vector<RefusedKernel> refused;
  std::vector<Region> regions;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    std::string why;
    std::optional<std::vector<Region>> kernels;
    if (region.graph) {
      regions.push_back(region);
      continue;
    }
    if (has_schedule(region)) {
      why = "it has a schedule";
    } else if (region.statements.empty()) {
      why = "it has no statements";
    } else {
      kernels = kernels_of(program, r, machine, why);
    }
    if (!kernels) {
      refused.push_back({region.name, why});
      regions.push_back(region);
      continue;
    }
    std::move(kernels->begin(), kernels->end(), std::back_inserter(regions));
  }
  program.regions = std::move(regions);
  name_apart(program.regions);
  return refused;
}

}  // namespace fuseflow::cluster
