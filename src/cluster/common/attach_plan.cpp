#include "cluster/common/attach_plan.h"

#include <algorithm>
#include <set>

namespace fuseflow::cluster {

bool has_schedule(const Region& region) {
  const Schedule& s = region.schedule;
  return !s.order.empty() || !s.placements.empty() || !s.parallel.empty();
}

std::vector<size_t> regions_of(const Program& program, const std::vector<TensorId>& results) {
  const std::set<TensorId> wanted(results.begin(), results.end());
  std::vector<size_t> found;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const auto& statements = program.regions[r].statements;
    const bool any = std::any_of(statements.begin(), statements.end(),
                                 [&](const Statement& s) { return wanted.count(s.result) != 0; });
    if (any) found.push_back(r);
  }
  return found;
}

bool attach_plan(Program& program, const std::vector<TensorId>& results, const PlanNotes& notes,
                 Graph graph, bool replace) {
  const std::set<TensorId> wanted(results.begin(), results.end());
  const auto is_wanted = [&](const Statement& s) { return wanted.count(s.result) != 0; };
  const std::vector<size_t> regions = regions_of(program, results);
  const bool pure = std::all_of(regions.begin(), regions.end(), [&](size_t r) {
    const Region& region = program.regions[r];
    const bool scheduled = region.graph || has_schedule(region);
    return std::all_of(region.statements.begin(), region.statements.end(), is_wanted) &&
           (!scheduled || (replace && region.graph && region.graph->tiles));
  });
  if (!pure) return false;
  Region& home = program.regions[regions.back()];
  std::vector<Statement> statements;
  for (const size_t r : regions) {
    for (Statement& s : program.regions[r].statements) {
      statements.push_back(std::move(s));
    }
  }
  home.statements = std::move(statements);
  home.plan = notes;
  name_streams(graph);
  home.graph = std::move(graph);
  for (auto r = regions.rbegin() + 1; r != regions.rend(); ++r) {
    program.regions.erase(program.regions.begin() + static_cast<int64_t>(*r));
  }
  return true;
}

}  // namespace fuseflow::cluster
