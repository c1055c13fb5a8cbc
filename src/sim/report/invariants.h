// What the counts of every run satisfy (ir-spec/csv.md "Invariants").
#pragma once

#include "sim/common/program_result.h"

namespace fuseflow {

/// Throws Error(internal) if counts contradict each other. To be called before anything is printed.
void assert_invariants(const Program& program, const ProgramRun& run);

}  // namespace fuseflow
