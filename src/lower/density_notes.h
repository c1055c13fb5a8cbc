// Says in words where the absence of a fact makes a region dense: which tensor, which fact, and by
// how much, from the region lowered as it is and as if the fact were known.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// One line for each statement that lacks a fact (ir/missing_facts.h) where that costs FLOPs or
/// stream elements as its region is scheduled now. Reads the data of the tensors concerned, as far
/// as they can be read.
std::vector<std::string> density_notes(const Program& program);

}  // namespace fuseflow
