#include "explore/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/names.h"
#include "support/text.h"

namespace fuseflow {
namespace {

constexpr size_t kMostReasons = 3;
constexpr size_t kMostRegions = 12;

/// Compares costs with the best program's.
class CostComparison {
 public:
  CostComparison(const SearchResult& result, const Machine& machine)
      : objective_(result.objective), machine_(machine), best_(cost_of(objective_, result.best)) {}

  std::string operator()(const std::string& name, double cost, bool at_least = false) const {
    if (cost <= 0) return fmt::format("  {:<24} not known\n", printable(name));
    const std::string times =
        best_ > 0 ? fmt::format(", {:.2f} times the best", ratio(cost)) : std::string();
    return fmt::format("  {:<24} {:>2} {:>19}{}\n", printable(name), at_least ? ">=" : "",
                       amount_text(objective_, machine_, cost), times);
  }
  std::string operator()(const std::string& name, const Amounts& amounts) const {
    return (*this)(name, cost_of(objective_, amounts));
  }

 private:
  /// Costs of the energy-delay product are its roots.
  double ratio(double cost) const {
    const double times = cost / best_;
    return objective_ == Objective::edp ? times * times : times;
  }

  const Objective objective_;
  const Machine& machine_;
  const double best_;
};

std::string copies_text(const Point& point) {
  std::vector<std::string> parts;
  for (const Parallel& p : point.parallel) parts.push_back(fmt::format("{}={}", p.index, p.factor));
  return parts.empty() ? "" : fmt::format("; copies {}", fmt::join(parts, " "));
}

std::string joins_text(const Point& point) {
  std::vector<std::string> parts;
  for (const Join& join : point.joins) {
    parts.push_back(fmt::format("{}={}", join.index, join_form_name(join.form)));
  }
  return parts.empty() ? "" : fmt::format("; joins {}", fmt::join(parts, " "));
}

std::string best_region(const Trial& t) {
  const std::string order =
      t.point.order.empty() ? "" : fmt::format("; order {}", fmt::join(t.point.order, " "));
  const std::string kernels = t.point.first == t.point.last
                                  ? fmt::format("kernel {}", t.point.first)
                                  : fmt::format("kernels {} to {}", t.point.first, t.point.last);
  return printable(fmt::format("  @{}: {} cycles; {}; {}{}{}{}", quote_if_needed(t.region),
                               t.result.cycles, kernels, t.point.recipe.name, order,
                               copies_text(t.point), joins_text(t.point))) +
         "\n";
}

/// In the order in which they run.
std::string best_regions(const SearchResult& result) {
  std::vector<const Trial*> best;
  for (const Trial& t : result.trials) {
    if (t.best) best.push_back(&t);
  }
  std::sort(best.begin(), best.end(),
            [](const Trial* a, const Trial* b) { return a->point.first < b->point.first; });
  std::string text;
  for (size_t i = 0; i < std::min(best.size(), kMostRegions); ++i) text += best_region(*best[i]);
  if (best.size() > kMostRegions) {
    text += fmt::format("  and {} more regions\n", best.size() - kMostRegions);
  }
  return text;
}

/// The commonest reasons why points have this status.
std::string reasons(const SearchResult& result, PointStatus status) {
  std::map<std::string, size_t> counts;
  for (const Trial& t : result.trials) {
    if (t.status == status && !t.note.empty()) ++counts[t.note];
  }
  std::vector<std::pair<size_t, std::string>> sorted;
  sorted.reserve(counts.size());
  for (const auto& [note, count] : counts) sorted.emplace_back(count, note);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMostReasons); ++i) {
    text += fmt::format("    {:>6}  {}\n", sorted[i].first, printable(sorted[i].second));
  }
  if (sorted.size() > kMostReasons) {
    text += fmt::format("            and {} more reasons\n", sorted.size() - kMostReasons);
  }
  return text;
}

std::string points_text(const SearchResult& result, const std::string& why_unvisited) {
  std::map<PointStatus, size_t> counts;
  for (const Trial& t : result.trials) ++counts[t.status];
  std::string text = fmt::format("  {} points:\n", result.trials.size());
  for (const auto& [status, name, means] : point_statuses()) {
    if (counts[status] == 0) continue;
    const std::string_view why = status == PointStatus::unvisited ? why_unvisited : means;
    text += fmt::format("  {:>6}  {}: {}\n", counts[status], name, why);
    // The note of a graph that is another's names that one: no reason, and each is different.
    if (status != PointStatus::same) text += reasons(result, status);
  }
  return text;
}

}  // namespace

std::string search_summary(const Program& kernels, const Machine& machine,
                           const SearchResult& result, const std::string& why_unvisited) {
  const std::string name = kernels.name.empty() ? "the program" : kernels.name;
  std::string text = printable(fmt::format("search: {} on {}: ", name, machine.name));
  const double best = cost_of(result.objective, result.best);
  text += result.best.cycles > 0
              ? fmt::format("{} at best\n", amount_text(result.objective, machine, best))
              : "no complete program is known\n";
  const CostComparison against(result, machine);
  text += against("unfused", result.unfused);
  if (result.unfused_copies.cycles > 0) {
    text += against("unfused, with copies", result.unfused_copies);
  }
  for (const SeedTotal& seed : result.seeds) {
    text += against(seed.name, seed.cost, seed.at_least);
  }
  if (!result.best_seed.empty()) {
    text += fmt::format("  the best is the seed {} as a whole\n", printable(result.best_seed));
  }
  text += best_regions(result);
  return text + points_text(result, why_unvisited);
}

}  // namespace fuseflow
