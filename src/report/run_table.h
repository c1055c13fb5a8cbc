// A report of fuseflow-sim or fuseflow-estimate (ir-spec/csv.md "Regions") read back from its CSV.
// What people look at (tables, differences, pages) starts here; nothing here knows a simulator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/io.h"

namespace fuseflow {

/// One row: a region, or `total`. Columns that hold no number (machine, checked) are not in
/// `numbers`.
struct RunRow {
  std::string region;
  std::map<std::string, double> numbers;     ///< by column
  std::map<std::string, std::string> texts;  ///< by column: fields that are no numbers
};

struct RunTable {
  std::string file;  ///< name for messages
  std::string program;
  std::string machine;
  std::vector<RunRow> regions;  ///< in program order
  RunRow total;
};

/// Reads the report of one run. Throws Error(rejected) with file, line and what was expected: a
/// text that is no such report, a row with too few fields, a last row that is not the total of the
/// others (a file that was cut off, several reports in one). Warns of a schema before this one.
RunTable parse_run_table(const SourceText& source);

/// At most `most` regions, those with the most cycles first.
std::vector<const RunRow*> longest_regions(const RunTable& run, size_t most);

}  // namespace fuseflow
