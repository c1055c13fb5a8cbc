// What a search tried, read back from the CSV of fuseflow-explore (ir-spec/csv.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/point_status.h"
#include "support/io.h"

namespace fuseflow {

struct SearchPoint {
  std::string region, placement, order, copies;
  PointStatus status = PointStatus::open;
  int64_t first_kernel = 0, last_kernel = 0;
  double cycles = 0;  ///< 0: not known
  bool best = false;
};

struct SearchTable {
  std::string file, program, machine;
  std::vector<SearchPoint> points;         ///< in the order of their numbers
  std::map<std::string, double> totals;    ///< cycles of `unfused`, `unfused_copies`, `best`
  std::map<PointStatus, size_t> statuses;  ///< points by status
};

/// Throws Error(rejected) with file and line.
SearchTable parse_search_table(const SourceText& source);

}  // namespace fuseflow
