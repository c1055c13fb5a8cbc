#include "report/run_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/csv_table.h"
#include "report/metric.h"
#include "report/number_text.h"

namespace fuseflow {
namespace {

/// Whether runs are compared, drawn and added up by the column.
bool is_measured(const std::string& column) {
  return column == "seconds" ||
         std::any_of(metrics().begin(), metrics().end(), [&](const Metric& metric) {
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

/// The last row is the sum of those before it: a region may be named `total` as well, and then a
/// file that was cut off ends with such a row, too. An estimate rounds each row.
void require_sums(const CsvTable& csv, const RunTable& table) {
  const auto rows = static_cast<double>(csv.rows());
  for (const Metric& metric : metrics()) {
    if (!metric.adds_up || metric.name == "energy_pj") continue;  // leaks between regions, too
    const bool pauses = metric.name == "cycles" && !table.regions.empty();
    const std::optional<double> total = value_of(metric, table.total);
    std::optional<double> sum = 0;
    for (const RunRow& row : table.regions) {
      const std::optional<double> value = value_of(metric, row);
      sum = sum && value ? std::optional(*sum + *value) : std::nullopt;
    }
    if (!total || !sum) continue;
    const double slack = 1e-9 * *sum + (csv.has("bound_cycles") ? rows : 0);
    if (*total >= *sum - slack && (*total <= *sum + slack || pauses)) continue;
    throw csv.rejected(
        csv.rows() - 1,
        fmt::format("the row `total` says {} {}, but the rows before it add up to {}: expected the "
                    "whole report of one run, a file each",
                    grouped_number(*total), metric.name, grouped_number(*sum)));
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
