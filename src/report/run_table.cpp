#include "report/run_table.h"

#include <algorithm>

#include "report/csv_table.h"
#include "report/metric.h"

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

}  // namespace

RunTable parse_run_table(const SourceText& source) {
  const CsvTable csv(source, {"schema", "program", "machine", "region", "cycles"},
                     "a report of regions, as fuseflow-sim and fuseflow-estimate print");
  RunTable table;
  table.file = source.name;
  bool ended = false;
  for (size_t i = 0; i < csv.rows(); ++i) {
    if (ended) {
      throw csv.rejected(i, "a row after `total`: expected the report of one run, a file each");
    }
    table.program = csv.text(i, "program");
    table.machine = csv.text(i, "machine");
    RunRow row = row_of(csv, i);
    ended = row.region == "total";
    if (ended) {
      table.total = std::move(row);
    } else {
      table.regions.push_back(std::move(row));
    }
  }
  if (!ended) {
    throw Error(ExitCode::rejected, source.name +
                                        ": the row `total` is missing: the run did not finish, or "
                                        "the file was cut off");
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
