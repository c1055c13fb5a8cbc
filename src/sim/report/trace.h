// A timeline of a run for Perfetto or chrome://tracing (JSON trace events): tracks of each node and
// counters of each region, one cycle is one microsecond. Sampled, so that a file of any run opens:
// there is a fixed number of intervals at most, which grow with the run.
#pragma once

#include <string>

#include "sim/common/program_result.h"

namespace fuseflow {

/// JSON of a run with RunOptions::trace. Neighbouring intervals that are equally busy (starved,
/// blocked), to a tenth, are one slice. Rules: ir-spec/csv.md "Timeline".
std::string trace_json(const Program& program, const Machine& machine, const ProgramRun& run);

}  // namespace fuseflow
