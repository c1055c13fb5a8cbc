// Rules of a whole program, beyond what the types of program.h express: names, definitions before
// uses, extents, schedules, graphs. Every pass keeps them.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Throws Error(rejected) with every violation found (up to a limit).
void verify(const Program& program);

}  // namespace fuseflow
