// The simulator's reports as text: CSV of regions (contract, ir-spec/csv.md), of nodes and of
// streams, and the summary of bottlenecks. Invariants are asserted here, before anything is
// printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/program_run.h"

namespace fuseflow {

/// Throws Error(internal) if counts contradict each other (ir-spec/csv.md "Invariants").
void assert_invariants(const Program& program, const ProgramRun& run);

/// One row a region and `total`.
std::string region_csv(const Program& program, const Machine& machine, const ProgramRun& run,
                       const std::vector<CheckedTensor>& checked);
std::string node_csv(const Program& program, const ProgramRun& run);
std::string stream_csv(const Program& program, const ProgramRun& run);

/// For people: for each region the busiest node, what held it up, and where it is on the roofline.
std::string bottleneck_summary(const Program& program, const Machine& machine,
                               const ProgramRun& run);

/// Why a run did not finish.
std::string describe_finish(const Program& program, const ProgramRun& run);

}  // namespace fuseflow
