// Puts a rewrite into a program: regions, schedules and the reference section.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "rewrite/rewrite.h"
#include "support/defect.h"
#include "support/text.h"

namespace fuseflow {

namespace {

template <typename Visit>
void each_access(const Statement& statement, const Visit& visit) {
  for (const Expr& e : statement.nodes) {
    if (e.kind == Expr::Kind::access) visit(e.tensor);
  }
}

class Applier {
 public:
  Applier(const Program& program, const Rewrite& rewrite, std::vector<std::string>& notes)
      : p_(program), rewrite_(rewrite), notes_(notes) {}

  Program run() {
    keep_originals();
    p_.tensors.insert(p_.tensors.end(), rewrite_.tensors.begin(), rewrite_.tensors.end());
    for (const NewFacts& facts : rewrite_.facts) {
      Tensor& tensor = p_.tensors[static_cast<size_t>(facts.tensor)];
      tensor.facts = facts.facts;
      tensor.assumed = facts.assumed;
    }
    p_.reference.reassociated |= rewrite_.reorders;
    add_statements();
    for (Region& region : p_.regions) change(region);
    std::erase_if(p_.regions, [](const Region& r) { return r.statements.empty() && !r.graph; });
    return std::move(p_);
  }

 private:
  const Statement* replacement(TensorId tensor) const {
    for (const Statement& s : rewrite_.replaced) {
      if (s.result == tensor) return &s;
    }
    return nullptr;
  }

  bool is_removed(TensorId tensor) const {
    const std::vector<TensorId>& gone = rewrite_.removed;
    return std::find(gone.begin(), gone.end(), tensor) != gone.end();
  }

  bool changes(const Statement& s) const {
    return is_removed(s.result) || replacement(s.result) != nullptr;
  }

  void keep_originals() {
    std::set<TensorId> kept;
    for (const Statement& s : p_.reference.statements) kept.insert(s.result);
    for (const Region& region : p_.regions) {
      for (const Statement& s : region.statements) {
        if (changes(s) && kept.insert(s.result).second) p_.reference.statements.push_back(s);
      }
    }
  }

  size_t region_of(TensorId tensor) const {
    for (size_t r = 0; r < p_.regions.size(); ++r) {
      for (const Statement& s : p_.regions[r].statements) {
        if (s.result == tensor) return r;
      }
    }
    throw Defect("a rewrite of a statement that is in no region");
  }

  /// In the region of their first reader, where that has other statements or what goes was in it,
  /// too; else they are kernels before it, as what goes was.
  void add_statements() {
    if (rewrite_.added.empty()) return;
    const size_t home = region_of(rewrite_.before);
    if (!are_kernels(home)) {
      std::vector<Statement>& all = p_.regions[home].statements;
      const auto at = std::find_if(all.begin(), all.end(),
                                   [&](const Statement& s) { return s.result == rewrite_.before; });
      all.insert(at, rewrite_.added.begin(), rewrite_.added.end());
      touched_.insert(p_.regions[home].name);
      return;
    }
    std::vector<Region> kernels;
    for (const Statement& s : rewrite_.added) {
      Region region;
      region.name = unused_region(rewrite_.tensors[kernels.size()].name, kernels);
      region.where = s.where;
      region.statements.push_back(s);
      kernels.push_back(std::move(region));
    }
    p_.regions.insert(p_.regions.begin() + static_cast<std::ptrdiff_t>(home), kernels.begin(),
                      kernels.end());
  }

  bool are_kernels(size_t home) const {
    if (rewrite_.removed.empty() || p_.regions[home].statements.size() != 1) return false;
    return rewrite_.kind == RewriteKind::reassociate || rewrite_.kind == RewriteKind::collect;
  }

  std::string unused_region(const std::string& wanted, const std::vector<Region>& more) const {
    const auto taken = [&](const std::string& name) {
      const auto is_named = [&](const Region& region) { return region.name == name; };
      return std::any_of(p_.regions.begin(), p_.regions.end(), is_named) ||
             std::any_of(more.begin(), more.end(), is_named);
    };
    return unused_name(wanted, "_", 1, taken);
  }

  void change(Region& region) {
    const bool changed = std::any_of(region.statements.begin(), region.statements.end(),
                                     [&](const Statement& s) { return changes(s); });
    if (!changed && !touched_.contains(region.name)) return;
    std::erase_if(region.statements, [&](const Statement& s) { return is_removed(s.result); });
    for (Statement& s : region.statements) {
      if (const Statement* instead = replacement(s.result)) s = *instead;
    }
    if (!region.statements.empty()) keep_schedule(region);
  }

  /// Orders and copies name indices of the statements before.
  void keep_schedule(Region& region) {
    const std::string name = quote_if_needed(region.name);
    if (!region.schedule.order.empty()) {
      notes_.push_back(fmt::format("dropped the order of region @{}: its statements change", name));
    }
    if (!region.schedule.parallel.empty()) {
      notes_.push_back(fmt::format("dropped the parallel factors of region @{}", name));
    }
    region.schedule.order.clear();
    region.schedule.parallel.clear();
    std::set<TensorId> defined;
    std::set<std::pair<TensorId, TensorId>> used;  // and by which statement
    for (const Statement& s : region.statements) {
      defined.insert(s.result);
      each_access(s, [&](TensorId t) {
        used.insert({t, s.result});
        used.insert({t, -1});
      });
    }
    std::erase_if(region.schedule.placements, [&](const UsePlacement& use) {
      const bool stored =
          use.placement == Placement::memory || use.placement == Placement::scratchpad;
      if (!defined.contains(use.tensor) && !stored) return true;
      return !used.contains({use.tensor, use.consumer}) &&
             (use.consumer >= 0 || !defined.contains(use.tensor));
    });
  }

  Program p_;
  const Rewrite& rewrite_;
  std::vector<std::string>& notes_;
  std::set<std::string> touched_;  ///< regions that new statements were put into
};

/// Gives tensors new places: `places[t]` instead of t.
void renumber(std::vector<Statement>& statements, const std::vector<TensorId>& places) {
  for (Statement& s : statements) {
    s.result = places[static_cast<size_t>(s.result)];
    for (Expr& e : s.nodes) {
      if (e.kind == Expr::Kind::access) e.tensor = places[static_cast<size_t>(e.tensor)];
    }
  }
}

std::vector<bool> named_tensors(const Program& program, bool reference) {
  std::vector<bool> named(program.tensors.size(), false);
  const auto visit = [&](const Statement& s, bool result) {
    if (result) named[static_cast<size_t>(s.result)] = true;
    each_access(s, [&](TensorId t) { named[static_cast<size_t>(t)] = true; });
  };
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) visit(s, true);
  }
  for (const Statement& s : program.reference.statements) visit(s, reference);
  return named;
}

}  // namespace

Program apply_rewrite(const Program& program, const Rewrite& rewrite,
                      std::vector<std::string>& notes) {
  return Applier(program, rewrite, notes).run();
}

void remove_unused(Program& program, TensorId first) {
  for (bool again = true; again;) {
    const std::vector<bool> named = named_tensors(program, false);
    again = std::erase_if(program.reference.statements, [&](const Statement& s) {
              return s.result >= first && !named[static_cast<size_t>(s.result)];
            }) > 0;
  }
  const std::vector<bool> named = named_tensors(program, true);
  std::vector<TensorId> places;
  std::vector<Tensor> tensors;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    places.push_back(static_cast<TensorId>(tensors.size()));
    const bool kept = static_cast<TensorId>(t) < first || named[t];
    if (kept) tensors.push_back(std::move(program.tensors[t]));
  }
  program.tensors = std::move(tensors);
  renumber(program.reference.statements, places);
  for (Region& region : program.regions) {
    renumber(region.statements, places);
    for (UsePlacement& use : region.schedule.placements) {
      use.tensor = places[static_cast<size_t>(use.tensor)];
      if (use.consumer >= 0) use.consumer = places[static_cast<size_t>(use.consumer)];
    }
  }
}

}  // namespace fuseflow
