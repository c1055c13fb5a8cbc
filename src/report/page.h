// One page of what was run: HTML from reports, node and stream tables, a search and the program, as
// far as they are given. Same input, same bytes: no dates, no host times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "report/node_table.h"
#include "report/run_table.h"
#include "report/search_table.h"
#include "verdict/figures.h"
#include "verdict/limit.h"

namespace fuseflow {

/// What limits a region once changes were tried on it, and which of them help, in words.
struct Advice {
  Limit limit;
  std::string tries;  ///< empty: none were tried
};

struct PageInput {
  std::vector<RunTable> runs;      ///< at least one; the first is the baseline
  std::optional<Machine> machine;  ///< of the last run; none: no roofs
  std::optional<Program> program;  ///< of the last run; what it knows of graphs is drawn
  std::vector<NodeRow> nodes;      ///< of the last run
  std::vector<StreamRow> streams;  ///< of the last run
  std::optional<SearchTable> search;
  std::string version;  ///< of the tools
  /// Lays out a Graphviz text as SVG; empty where that cannot be done.
  std::function<std::string(const std::string&)> layout;
  /// Tries changes on a region of `program`; none: nothing is tried.
  std::function<Advice(size_t region, const RegionFigures&, const Limit&)> advise;
};

/// Throws Error(rejected) where the files do not belong together: a program, nodes or streams of
/// other regions.
std::string report_page(const PageInput& input);

/// The terminal's version: the runs, and what the last one spent its time on.
std::string report_text(const PageInput& input);

}  // namespace fuseflow
