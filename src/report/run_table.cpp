#include "report/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/csv_table.h"
#include "report/metric.h"
#include "report/number_text.h"

namespace fuseflow {
namespace {

/// Whether runs are compared, drawn and added up by the column.
bool is_measured(const std::string& column) {
  return std::any_of(metrics().begin(), metrics().end(), [&](const Metric& metric) {
    return std::count(metric.columns.begin(), metric.columns.end(), column) > 0;
  });
}

RunRow row_of(const CsvTable& csv, size_t number) {
  RunRow row;
  row.region = csv.text(number, "region");
  csv.required(number, "cycles");
  for (const std::string& column : csv.columns()) {
    const std::optional<double> value =
        is_measured(column) ? csv.measure(number, column) : csv.number(number, column);
    if (value) {
      row.numbers[column] = *value;
    } else {
      row.texts[column] = csv.text(number, column);
    }
  }
  return row;
}

[[noreturn]] void reject_total(const CsvTable& csv, const std::string& says) {
  throw csv.rejected(csv.rows() - 1, "the row `total` says " + says +
                                         ": expected the whole report of one run, a file each");
}

std::optional<double> sum_of(const Metric& metric, const RunTable& table) {
  double sum = 0;
  for (const RunRow& row : table.regions) {
    const std::optional<double> value = value_of(metric, row);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

/// The pauses between regions, all alike: they take time, and leak. An estimate rounds each row, so
/// what its total has more may be either.
bool may_have_pauses(const CsvTable& csv, const RunTable& table) {
  if (table.regions.size() < 2) return false;
  if (csv.has("bound_cycles")) return true;
  const Metric& cycles = *find_metric("cycles");
  const double pauses = *value_of(cycles, table.total) - *sum_of(cycles, table);
  const auto between = static_cast<double>(table.regions.size() - 1);
  return pauses > 0 && std::fmod(pauses, between) == 0;
}

/// What rounding makes of a sum.
double slack_of(const CsvTable& csv, const Metric& metric, double sum) {
  const auto rows = static_cast<double>(csv.rows());
  if (metric.name == "seconds") return 1e-5 * sum;  // six digits
  if (metric.name == "energy_pj") return 1e-9 * sum + 1e-3 * rows;
  return 1e-9 * sum + (csv.has("bound_cycles") ? rows : 0);
}

/// The last row is the sum of those before it: a region may be named `total` as well, and then a
/// file that was cut off ends with such a row, too.
void require_sums(const CsvTable& csv, const RunTable& table) {
  const bool pauses = may_have_pauses(csv, table);
  for (const Metric& metric : metrics()) {
    const std::optional<double> total = value_of(metric, table.total);
    const std::optional<double> sum = sum_of(metric, table);
    if (!metric.adds_up || !total || !sum) continue;
    const double slack = slack_of(csv, metric, *sum);
    const bool more = pauses && metric.grows_in_pauses;
    if (*total >= *sum - slack && (*total <= *sum + slack || more)) continue;
    reject_total(csv, fmt::format("{} {}, but the rows before it add up to {}",
                                  measured_text(*total), metric.name, measured_text(*sum)));
  }
}

/// All rows are of one program on one machine, and so of one clock.
void require_one_run(const CsvTable& csv, const RunTable& table) {
  for (size_t i = 0; i < csv.rows(); ++i) {
    for (const char* column : {"program", "machine"}) {
      if (csv.text(i, column) == csv.text(0, column)) continue;
      throw csv.rejected(i, fmt::format("{} {}, but {} in the rows before it: expected the report "
                                        "of one run, a file each",
                                        column, csv.text(i, column), csv.text(0, column)));
    }
  }
  if (csv.has("bound_cycles")) return;  // whose cycles are rounded
  for (const RunRow& row : table.regions) {
    if (!clocks_differ(time_of(row), time_of(table.total))) continue;
    reject_total(csv, "another time for each cycle than the row of @" + row.region);
  }
}

}  // namespace

RunTable parse_run_table(const SourceText& source) {
  const CsvTable csv(source, {"schema", "program", "machine", "region", "cycles"},
                     "a report of regions, as fuseflow-sim and fuseflow-estimate print", 1);
  RunTable table;
  table.file = source.name;
  for (size_t i = 0; i < csv.rows(); ++i) {
    table.program = csv.text(i, "program");
    table.machine = csv.text(i, "machine");
    table.regions.push_back(row_of(csv, i));
  }
  if (table.regions.empty() || table.regions.back().region != "total") {
    throw Error(ExitCode::rejected, source.name +
                                        ": the row `total` is missing: the run did not finish, or "
                                        "the file was cut off");
  }
  table.total = std::move(table.regions.back());
  table.regions.pop_back();
  require_sums(csv, table);
  require_one_run(csv, table);
  if (csv.schema() < kCsvSchema) {
    report(Severity::warning,
           fmt::format("{}: a CSV of schema {}, which an older version wrote: its column `checked` "
                       "may say `ok` or `yes` of results that were not compared in full",
                       source.name, csv.schema()));
  }
  return table;
}

std::vector<const RunRow*> longest_regions(const RunTable& run, size_t most) {
  std::vector<const RunRow*> rows;
  for (const RunRow& row : run.regions) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const RunRow* a, const RunRow* b) {
    return a->numbers.at("cycles") > b->numbers.at("cycles");
  });
  rows.resize(std::min(rows.size(), most));
  return rows;
}

}  // namespace fuseflow
