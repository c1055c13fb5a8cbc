// A part of a program as a program, for those who plan and compare no more than that.
#pragma once

#include <set>

#include "ir/program.h"

namespace fuseflow::cluster {

/// The program with the statements of these tensors alone, in their regions. What other statements
/// read of them is stored.
Program part_of(const Program& program, const std::set<TensorId>& members);

}  // namespace fuseflow::cluster
