// Simulates the graphs of a program with both executors, which must agree.
#pragma once

#include "ir/program.h"
#include "tokens.h"

namespace fuseflow::fuzz {

/// Whether a simulation takes no time worth speaking of. `files`: sources may be files.
bool is_small(const Program& program, bool files);

/// Runs every region on a machine that is drawn, the results of one being the data of the next.
/// Traps where the executors differ; refusals, deadlocks and limits are right.
void simulate(const Program& program, Random& random);

}  // namespace fuseflow::fuzz
