// One node of a lowered program's graphs, made another: by its operator, reduction, level, constant
// or where its streams come from.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"

namespace fuseflow::testing {

/// Changes the program, and says what: "@gate, node 7 (map): eq is ne". What comes out may be no
/// valid graph. Empty: no node could be changed. Depends on nothing but program and seed.
std::string make_mutant(Program& program, uint64_t seed);

}  // namespace fuseflow::testing
