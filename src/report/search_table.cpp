#include "report/search_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/csv_table.h"

namespace fuseflow {
namespace {

/// More than a program has; the page has a number for each.
constexpr int64_t kMostKernels = 1'000'000;

PointStatus status_of(const CsvTable& csv, size_t row) {
  const std::string& name = csv.text(row, "status");
  if (const std::optional<PointStatus> status = find_point_status(name)) return *status;
  std::vector<std::string_view> names;
  for (const PointStatusInfo& info : point_statuses()) names.push_back(info.name);
  throw csv.rejected(row, fmt::format("there is no status `{}` of a point, expected {}", name,
                                      fmt::join(names, ", ")));
}

}  // namespace

SearchTable parse_search_table(const SourceText& source) {
  const CsvTable csv(source, {"schema", "program", "machine", "point"},
                     "a table of points, as fuseflow-explore prints", 1);
  SearchTable table;
  table.file = source.name;
  for (size_t i = 0; i < csv.rows(); ++i) {
    table.program = csv.text(i, "program");
    table.machine = csv.text(i, "machine");
    if (!csv.number(i, "point")) {
      table.totals[csv.text(i, "point")] = csv.required(i, "cycles");
      continue;
    }
    SearchPoint point;
    point.region = csv.text(i, "region");
    point.placement = csv.text(i, "placement");
    point.order = csv.text(i, "order");
    point.copies = csv.text(i, "copies");
    point.status = status_of(csv, i);
    point.first_kernel = csv.whole(i, "first_kernel", 0, kMostKernels);
    point.last_kernel = csv.whole(i, "last_kernel", point.first_kernel, kMostKernels);
    const bool known = point.status == PointStatus::simulated;
    point.cycles = known ? csv.required(i, "cycles") : csv.measure(i, "cycles").value_or(0);
    point.best = csv.text(i, "best") == "yes";
    ++table.statuses[point.status];
    table.points.push_back(std::move(point));
  }
  if (!table.totals.contains("best")) {
    report(Severity::warning,
           source.name + " has no row `best`: the search ended early, or the file was cut off");
  }
  return table;
}

}  // namespace fuseflow
