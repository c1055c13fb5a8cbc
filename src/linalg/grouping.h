// Which operations form a region, and the order of the regions.
#pragma once

#include <vector>

#include "linalg/function.h"

namespace fuseflow {

/// By operation: the number of its region. Regions are numbered so that each comes after those
/// whose results it needs, else in the order of their last operations. Throws Error(rejected) where
/// two regions of the file need each other.
std::vector<int> operation_groups(const LinalgFunction& function);

}  // namespace fuseflow
