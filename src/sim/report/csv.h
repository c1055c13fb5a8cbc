// The simulator's reports as text: CSV of regions (contract, ir-spec/csv.md), of nodes and of
// streams. What people read: sim/report/summary.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/common/program_result.h"
#include "sim/report/check.h"

namespace fuseflow {

/// One row a region and `total`. `all_checked`: the checks that were asked for were finished.
std::string region_csv(const Program& program, const Machine& machine, const ProgramRun& run,
                       const std::vector<CheckedTensor>& checked, bool all_checked = true);
std::string node_csv(const Program& program, const Machine& machine, const ProgramRun& run);
std::string stream_csv(const Program& program, const ProgramRun& run);

/// The names of a node's streams, with spaces between them.
std::string outputs_of(const Graph& graph, const Node& node);
/// The tensor that a node reads or writes, and which level; "" if none.
std::string tensor_of(const Program& program, const Node& node);

}  // namespace fuseflow
