// Random programs in which comparisons decide what is computed: top-k, experts that a gate chooses,
// masked softmax, thresholds, bins.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace fuseflow::testing {

/// Values are small whole numbers or fractions; statements are regions of their own or one region.
/// Depends on nothing but the seed.
Program gated_program(uint64_t seed);

}  // namespace fuseflow::testing
