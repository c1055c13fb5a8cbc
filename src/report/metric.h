// What two runs are compared by: a name, and the columns of the report that add up to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/speed_up.h"
#include "report/run_table.h"

namespace fuseflow {

struct Metric {
  std::string_view name;
  std::vector<std::string_view> columns;  ///< added up
  bool adds_up = true;           ///< over regions; else only single regions and totals have a value
  bool grows_in_pauses = false;  ///< between regions
};

/// All metrics, the most important first.
const std::vector<Metric>& metrics();
/// Null if there is none of that name.
const Metric* find_metric(std::string_view name);
/// The sum of the metric's columns in a row; nothing if the report lacks one.
std::optional<double> value_of(const Metric& metric, const RunRow& row);
/// What a row took.
RunTime time_of(const RunRow& row);

}  // namespace fuseflow
