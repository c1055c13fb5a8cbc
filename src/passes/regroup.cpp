#include "passes/regroup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/names.h"
#include "passes/dependences.h"

namespace fuseflow {

namespace {

class Regrouper {
 public:
  Regrouper(const Program& program, std::vector<Group> groups, PassLog& log)
      : p_(program), d_(dependences(program)), groups_(std::move(groups)), log_(log) {}

  Program run() {
    group_of_.assign(d_.nodes.size(), -1);
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::sort(groups_[g].statements.begin(), groups_[g].statements.end());
      for (const int s : groups_[g].statements) group_of_[s] = static_cast<int>(g);
    }
    for (size_t g = 0; g < groups_.size(); ++g) refuse_hole(static_cast<int>(g));
    Program result = p_;
    result.regions.clear();
    std::set<std::string> names;
    for (const int g : sorted_groups()) result.regions.push_back(make_region(groups_[g], names));
    return result;
  }

 private:
  std::string name(int statement) const {
    return "%" + quote_if_needed(p_.tensors[d_.nodes[statement].statement->result].name);
  }

  /// Breadth first from the group's statements over those outside: a way back in is a hole. It ends
  /// before the group's last statement, for consumers stand after their producers.
  void refuse_hole(int g) {
    const int end = groups_[g].statements.back();
    std::map<int, int> from;
    std::vector<int> queue;
    for (const int s : groups_[g].statements) {
      for (const int next : d_.nodes[s].consumers) {
        if (group_of_[next] == g || next > end || !from.emplace(next, s).second) continue;
        queue.push_back(next);
      }
    }
    for (size_t at = 0; at < queue.size(); ++at) {
      for (const int next : d_.nodes[queue[at]].consumers) {
        if (group_of_[next] == g) throw hole(g, from, queue[at], next);
        if (next > end || !from.emplace(next, queue[at]).second) continue;
        queue.push_back(next);
      }
    }
  }

  Error hole(int g, const std::map<int, int>& from, int last, int entry) const {
    std::vector<std::string> path = {name(entry)};
    std::vector<std::string> outside;
    int s = last;
    for (; group_of_[s] != g; s = from.at(s)) {
      path.push_back(name(s));
      outside.push_back(name(s));
    }
    path.push_back(name(s));
    std::reverse(path.begin(), path.end());
    std::reverse(outside.begin(), outside.end());
    return Error(
        ExitCode::rejected,
        fmt::format("region @{} would have a hole: {} leaves and re-enters it; expected {} in "
                    "the region, too, or {} outside of it",
                    quote_if_needed(group_name(groups_[g])), fmt::join(path, " -> "),
                    fmt::join(outside, ", "), name(entry)));
  }

  /// Dependence order; among the groups that are ready, the one with the earliest statement.
  std::vector<int> sorted_groups() const {
    std::vector<std::set<int>> after(groups_.size());
    std::vector<int> waiting(groups_.size(), 0);
    for (size_t s = 0; s < d_.nodes.size(); ++s) {
      for (const int producer : d_.nodes[s].producers) {
        const int a = group_of_[producer];
        const int b = group_of_[s];
        if (a != b && after[a].insert(b).second) ++waiting[b];
      }
    }
    std::set<std::pair<int, int>> ready;  // (first statement, group)
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (waiting[g] == 0) ready.insert({groups_[g].statements[0], static_cast<int>(g)});
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int g = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(g);
      for (const int next : after[g]) {
        if (--waiting[next] == 0) ready.insert({groups_[next].statements[0], next});
      }
    }
    if (order.size() != groups_.size()) refuse_tangle(order);
    return order;
  }

  /// Groups without holes may still wait for each other, in a circle.
  [[noreturn]] void refuse_tangle(const std::vector<int>& order) const {
    std::vector<std::string> names;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (std::find(order.begin(), order.end(), static_cast<int>(g)) == order.end()) {
        names.push_back("@" + quote_if_needed(group_name(groups_[g])));
      }
    }
    throw Error(
        ExitCode::rejected,
        fmt::format("regions {} would need each other's results in a cycle, expected them to be "
                    "one region or to be divided elsewhere",
                    fmt::join(names, ", ")));
  }

  const Region& old_region(int statement) const { return p_.regions[d_.nodes[statement].region]; }

  std::string group_name(const Group& group) const {
    return group.name.empty() ? old_region(group.statements.back()).name : group.name;
  }

  Region make_region(const Group& group, std::set<std::string>& names) {
    std::vector<size_t> sources;
    for (const int s : group.statements) {
      const size_t r = d_.nodes[s].region;  // ascends with the statements
      if (sources.empty() || sources.back() != r) sources.push_back(r);
    }
    const bool unchanged =
        sources.size() == 1 && p_.regions[sources[0]].statements.size() == group.statements.size();
    Region region;
    if (unchanged) {
      region = p_.regions[sources[0]];
    } else {
      region.where = old_region(group.statements[0]).where;
      for (const int s : group.statements) region.statements.push_back(*d_.nodes[s].statement);
      carry_schedules(sources, region);
    }
    region.name = unique(group_name(group), names);
    return region;
  }

  static std::string unique(const std::string& wanted, std::set<std::string>& names) {
    std::string name = wanted;
    for (int suffix = 1; !names.insert(name).second; ++suffix) {
      name = fmt::format("{}_{}", wanted, suffix);
    }
    return name;
  }

  void carry_schedules(const std::vector<size_t>& sources, Region& to) {
    std::set<TensorId> used;
    std::set<TensorId> defined;
    for (const Statement& s : to.statements) {
      defined.insert(s.result);
      for (const TensorId tensor : uses(s)) used.insert(tensor);
    }
    for (const size_t r : sources) carry_schedule(p_.regions[r], to, used, defined);
  }

  /// `used`, `defined`: by the statements of `to`.
  void carry_schedule(const Region& from, Region& to, const std::set<TensorId>& used,
                      const std::set<TensorId>& defined) {
    if (!from.schedule.order.empty()) {
      log_.note(
          fmt::format("dropped the order of region @{}: its statements are in another region now",
                      quote_if_needed(from.name)));
    }
    if (!from.schedule.parallel.empty()) {
      log_.note(
          fmt::format("dropped the parallel factors of region @{}", quote_if_needed(from.name)));
    }
    if (!from.schedule.joins.empty()) {
      log_.note(fmt::format("dropped the joins of region @{}", quote_if_needed(from.name)));
    }
    for (const UsePlacement& use : from.schedule.placements) {
      // What was said of an intermediate does not hold for a tensor that comes from another region.
      const bool was_internal =
          std::any_of(from.statements.begin(), from.statements.end(),
                      [&](const Statement& s) { return s.result == use.tensor; });
      const bool applies =
          (defined.count(use.tensor) > 0 || (used.count(use.tensor) > 0 && !was_internal)) &&
          (use.consumer < 0 || defined.count(use.consumer) > 0);
      const auto same = [&](const UsePlacement& other) {
        return other.tensor == use.tensor && other.consumer == use.consumer;
      };
      std::vector<UsePlacement>& kept = to.schedule.placements;
      if (applies && std::none_of(kept.begin(), kept.end(), same)) kept.push_back(use);
    }
    to.schedule.barriers = to.schedule.barriers || from.schedule.barriers;
    if (from.graph) return;  // a plan goes with its graph
    for (const auto& entry : from.plan) to.plan.push_back(entry);
  }

  const Program& p_;
  Dependences d_;
  std::vector<Group> groups_;
  PassLog& log_;
  std::vector<int> group_of_;  ///< by statement
};

}  // namespace

Program regroup(const Program& program, std::vector<Group> groups, PassLog& log) {
  return Regrouper(program, std::move(groups), log).run();
}

std::vector<Group> present_groups(const Program& program) {
  std::vector<Group> groups;
  int next = 0;
  for (const Region& region : program.regions) {
    if (region.statements.empty()) continue;
    Group group{region.name, {}};
    for (size_t s = 0; s < region.statements.size(); ++s) group.statements.push_back(next++);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace fuseflow
