// Which statements a check evaluates, and in which order: those of the reference section beside
// those of regions. Reference: ir-spec/language.md ("What a rewritten program came from").
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// For every tensor that a statement defines, one statement: that of the reference section where it
/// has one, else that of its region. Producers before consumers, else in the order of the program,
/// regions first. Of a program without a reference section: its statements as they stand. Throws
/// Error(rejected) where statements need each other in a circle.
std::vector<const Statement*> reference_order(const Program& program);

}  // namespace fuseflow
