#include "passes/pass_on_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/names.h"
#include "ir/residency.h"
#include "lower/placements.h"
#include "passes/choose.h"
#include "passes/reused_inputs.h"

namespace fuseflow {

namespace {

/// By region; null where it is not known.
using Costs = std::vector<std::optional<Cost>>;

/// The sum of the costs of the regions from `first` to before `end`.
std::optional<Cost> sum_of(const Costs& costs, size_t first, size_t end) {
  Cost sum;
  for (size_t r = first; r < end; ++r) {
    if (!costs[r]) return std::nullopt;
    sum.cycles += costs[r]->cycles;
    sum.dram_bytes += costs[r]->dram_bytes;
  }
  return sum;
}

template <typename Regions>
auto region_at(Regions& regions, size_t r) {
  return regions.begin() + static_cast<std::ptrdiff_t>(r);
}

/// What make_resident() changes, to be put back.
class ResidencyUndo {
 public:
  ResidencyUndo(const Program& program, const Resident& passed)
      : passed_(passed),
        placement_(program.tensors[static_cast<size_t>(passed.tensor)].placement),
        regions_(region_at(program.regions, passed.written),
                 region_at(program.regions, passed.last + 1)) {}

  void restore(Program& program) const {
    program.tensors[static_cast<size_t>(passed_.tensor)].placement = placement_;
    std::copy(regions_.begin(), regions_.end(), region_at(program.regions, passed_.written));
  }

 private:
  const Resident passed_;
  const Placement placement_;
  const std::vector<Region> regions_;
};

/// Bytes written once and read by each region that reads it: what staying can save.
double traffic_of(const Program& program, const Resident& passed) {
  size_t readers = 0;
  for (size_t r = passed.written + 1; r <= passed.last; ++r) {
    const auto& statements = program.regions[r].statements;
    readers += std::any_of(statements.begin(), statements.end(), [&](const Statement& statement) {
      return std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& e) {
        return e.kind == Expr::Kind::access && e.tensor == passed.tensor;
      });
    });
  }
  const Tensor& tensor = program.tensors[static_cast<size_t>(passed.tensor)];
  return static_cast<double>(1 + readers) * estimated_bytes(tensor);
}

/// Not yet on chip, and no region on its way has a graph: that would have to go, and may be one
/// that lowering does not give.
std::vector<Resident> candidates(const Program& program) {
  std::vector<std::pair<double, Resident>> found;
  for (const Resident& passed : passed_on(program)) {
    if (stays(program.tensors[static_cast<size_t>(passed.tensor)])) continue;
    const auto begin = program.regions.begin() + static_cast<std::ptrdiff_t>(passed.written);
    const auto end = program.regions.begin() + static_cast<std::ptrdiff_t>(passed.last) + 1;
    const auto has_graph = [](const Region& region) { return region.graph.has_value(); };
    if (std::any_of(begin, end, has_graph)) continue;
    found.emplace_back(traffic_of(program, passed), passed);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Resident> result;
  result.reserve(found.size());
  for (const auto& entry : found) result.push_back(entry.second);
  return result;
}

}  // namespace

Program pass_on_chip(Program program, const Machine& machine, CostModel& costs, PassLog& log) {
  if (!machine.scratchpad_counts()) return program;
  const std::vector<Resident> all = candidates(program);
  if (all.empty()) return program;
  costs.learn(program);
  Costs known(program.regions.size());
  std::vector<bool> asked(known.size(), false);
  for (const Resident& passed : all) {
    for (size_t r = passed.written; r <= passed.last; ++r) {
      if (asked[r]) continue;
      asked[r] = true;
      known[r] = costs.of_region(program, r);
    }
    const std::optional<Cost> before = sum_of(known, passed.written, passed.last + 1);
    if (!before || !std::isfinite(before->cycles)) continue;
    const ResidencyUndo given(program, passed);
    make_resident(program, passed);
    Costs now;
    for (size_t r = passed.written; r <= passed.last; ++r)
      now.push_back(costs.of_region(program, r));
    const std::optional<Cost> after = sum_of(now, 0, now.size());
    if (!better(after, before)) {
      given.restore(program);
      continue;
    }
    std::move(now.begin(), now.end(), known.begin() + static_cast<std::ptrdiff_t>(passed.written));
    log.note(
        fmt::format("%{} stays in the scratchpad from @{} to @{}: these take {}, {:.0f} bytes of "
                    "memory instead of {:.0f}",
                    quote_if_needed(program.tensors[static_cast<size_t>(passed.tensor)].name),
                    quote_if_needed(program.regions[passed.written].name),
                    quote_if_needed(program.regions[passed.last].name), gain_text(*after, *before),
                    after->dram_bytes, before->dram_bytes));
  }
  return program;
}

Program pass_on_and_reuse(Program program, const Machine& machine, CostModel& costs, PassLog& log) {
  program = pass_on_chip(std::move(program), machine, costs, log);
  return keep_reused_inputs(std::move(program), machine, costs, log);
}

}  // namespace fuseflow
