// A timeline of a run for Perfetto or chrome://tracing (JSON trace events): one track a node, one
// cycle is one microsecond. Sampled, so that a file of any run opens: each node keeps at most a
// fixed number of intervals, which grow with the run.
#pragma once

#include <string>

#include "sim/program_run.h"

namespace fuseflow {

/// JSON of a run with RunOptions::trace. Neighbouring intervals that are equally busy (to a tenth)
/// are one slice.
std::string trace_json(const Program& program, const Machine& machine, const ProgramRun& run);

}  // namespace fuseflow
