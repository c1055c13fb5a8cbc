// Random programs in which stored levels meet: intersections of two to four, unions of them,
// shifted ones, masks and products of matrices, results stored compressed.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace fuseflow::testing {

/// Values are small integers. Depends on nothing but the seed.
Program meeting_levels(uint64_t seed);

}  // namespace fuseflow::testing
