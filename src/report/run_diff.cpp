// Differences of two runs as numbers and as CSV. The table for people: run_diff_table.cpp.
#include "report/run_diff.h"

#include <fmt/format.h>

#include <cmath>

#include "report/number_text.h"
#include "support/csv.h"

namespace fuseflow {
namespace {

const RunRow* row_named(const RunTable& run, const std::string& region) {
  for (const RunRow& row : run.regions) {
    if (row.region == region) return &row;
  }
  return nullptr;
}

std::optional<double> sum_of(const Metric& metric, const RunTable& run,
                             const std::vector<std::string>& regions) {
  std::optional<double> sum;
  if (!metric.adds_up && regions.size() > 1) return sum;
  for (const std::string& region : regions) {
    const RunRow* row = row_named(run, region);
    const std::optional<double> value = row == nullptr ? std::nullopt : value_of(metric, *row);
    if (value) sum = sum.value_or(0) + *value;
  }
  return sum;
}

void add_csv_rows(std::string& out, const std::string& a, const std::string& b,
                  const std::vector<Change>& changes, const std::string& layers) {
  const auto number = [](const std::optional<double>& value) {
    return value ? exact_number(*value) : std::string();
  };
  for (const Change& change : changes) {
    const std::optional<double> ratio = change.ratio();
    const bool both = change.a && change.b;
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", kCsvSchema, csv_field(a), csv_field(b),
                       change.metric->name, number(change.a), number(change.b),
                       both ? exact_number(*change.b - *change.a) : "",
                       ratio ? fmt::format("{:.3f}", *ratio * 100) : "", csv_field(layers));
  }
}

std::string layers_text(const std::vector<std::string>& layers) {
  if (layers.empty()) return "";
  return layers[0].empty() ? "(none)" : fmt::format("{}", fmt::join(layers, " "));
}

}  // namespace

std::optional<double> Change::ratio() const {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return 0;
  if (*a == 0) return std::nullopt;
  return *b / *a - 1;
}

RunDiff diff_runs(const RunTable& a, const RunTable& b, const std::vector<RegionPair>& pairs,
                  const std::vector<RegionPair>& layers) {
  RunDiff diff;
  for (const Metric& metric : metrics()) {
    const Change change{&metric, value_of(metric, a.total), value_of(metric, b.total)};
    if (change.a || change.b) diff.total.push_back(change);
  }
  const auto changes_of = [&](const RegionPair& pair) {
    PairChanges one{pair, {}};
    for (const Change& known : diff.total) {
      one.changes.push_back(
          {known.metric, sum_of(*known.metric, a, pair.a), sum_of(*known.metric, b, pair.b)});
    }
    return one;
  };
  for (const RegionPair& pair : pairs) diff.pairs.push_back(changes_of(pair));
  for (const RegionPair& pair : layers) diff.layers.push_back(changes_of(pair));
  return diff;
}

std::string diff_csv(const RunDiff& diff) {
  std::string out = "schema,regions_a,regions_b,metric,a,b,change,change_percent,layers\n";
  for (const auto* pairs : {&diff.pairs, &diff.layers}) {
    for (const PairChanges& one : *pairs) {
      add_csv_rows(out, fmt::format("{}", fmt::join(one.pair.a, " ")),
                   fmt::format("{}", fmt::join(one.pair.b, " ")), one.changes,
                   layers_text(one.pair.layers));
    }
  }
  add_csv_rows(out, "total", "total", diff.total, "");
  return out;
}

}  // namespace fuseflow
