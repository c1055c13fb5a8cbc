// The difference of two runs as a table for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_text.h"
#include "report/run_diff.h"
#include "report/text_table.h"
#include "support/text.h"

namespace fuseflow {
namespace {

constexpr std::string_view kRegionMetrics[] = {"cycles", "dram_bytes"};

std::string cell(const std::optional<double>& value) {
  return value ? measured_text(*value) : "-";
}

std::string change_cell(const Change& change) {
  if (const std::optional<double> ratio = change.ratio()) return percent_change(*ratio);
  if (change.a && change.b) return "from 0";
  return change.b ? "new" : change.a ? "gone" : "-";
}

const Change* change_of(const std::vector<Change>& changes, std::string_view metric) {
  for (const Change& change : changes) {
    if (change.metric->name == metric) return &change;
  }
  return nullptr;
}

double cycles_moved(const PairChanges& one) {
  const Change* cycles = change_of(one.changes, "cycles");
  return cycles == nullptr ? 0 : std::abs(cycles->b.value_or(0) - cycles->a.value_or(0));
}

/// `blocks.0`, `conv1 + conv2`, `blocks.0 .. blocks.11 (12)`.
std::string layers_cell(const std::vector<std::string>& layers) {
  if (layers[0].empty()) return "(none)";
  if (layers.size() > 3) {
    return fmt::format("{} .. {} ({})", layers.front(), layers.back(), layers.size());
  }
  return fmt::format("{}", fmt::join(layers, " + "));
}

/// The region's name in `b`. `y (4 regions in a)` where the other run has several for it, `y (only
/// a)` where the other has none, `y +1 (2 in a)` where both have several.
std::string name_of(const RegionPair& pair) {
  if (!pair.layers.empty()) return layers_cell(pair.layers);
  if (pair.b.empty()) return pair.a[0] + " (only a)";
  if (pair.a.empty()) return pair.b[0] + " (only b)";
  const bool whole_in_a = pair.a.size() == 1 && pair.b.size() > 1;
  std::string name = whole_in_a ? pair.a[0] : pair.b[0];
  if (whole_in_a) return fmt::format("{} ({} regions in b)", name, pair.b.size());
  if (pair.b.size() > 1) name += fmt::format(" +{}", pair.b.size() - 1);
  if (pair.a.size() > 1) name += fmt::format(" ({} regions in a)", pair.a.size());
  return name;
}

std::string totals(const RunDiff& diff) {
  TextTable table({"total", "a", "b", "change"});
  for (const Change& change : diff.total) {
    if (change.a.value_or(0) == 0 && change.b.value_or(0) == 0) continue;
    table.add(
        {std::string(change.metric->name), cell(change.a), cell(change.b), change_cell(change)});
  }
  return table.text();
}

std::string parts(const char* what, const std::vector<PairChanges>& pairs) {
  TextTable table(
      {what, "cycles a", "cycles b", "change", "DRAM bytes a", "DRAM bytes b", "change"});
  for (const PairChanges& one : pairs) {
    std::vector<std::string> cells = {name_of(one.pair)};
    for (const std::string_view metric : kRegionMetrics) {
      const Change* change = change_of(one.changes, metric);
      const Change shown = change == nullptr ? Change{} : *change;
      cells.insert(cells.end(), {cell(shown.a), cell(shown.b), change_cell(shown)});
    }
    table.add(std::move(cells));
  }
  return table.text();
}

/// Those that changed the cycles most, with how many are left out.
std::string most_changed(const char* what, std::vector<PairChanges> pairs, size_t most) {
  std::stable_sort(pairs.begin(), pairs.end(), [](const PairChanges& x, const PairChanges& y) {
    return cycles_moved(x) > cycles_moved(y);
  });
  const size_t all = pairs.size();
  if (most > 0 && most < all) pairs.resize(most);
  std::string out = "\n" + parts(what, pairs);
  if (pairs.size() < all) out += fmt::format("(+{} more {}s)\n", all - pairs.size(), what);
  return out;
}

}  // namespace

std::string diff_table(const RunTable& a, const RunTable& b, const RunDiff& diff, size_t most) {
  const auto title = [](const char* side, const RunTable& run) {
    const std::string names = fmt::format("{}: {} on {}", run.file, run.program, run.machine);
    return fmt::format("{}: {}\n", side, printable(names));
  };
  std::string out = title("a", a) + title("b", b) + "\n" + totals(diff);
  if (!diff.layers.empty()) out += most_changed("layer", diff.layers, most);
  return out + most_changed("region", diff.pairs, most);
}

}  // namespace fuseflow
