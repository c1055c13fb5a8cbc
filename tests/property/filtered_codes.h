// Random programs whose intermediates are declared compressed and thinned out by their values:
// rectified sums, thresholds, other fills; products, gates, unions and masks of them as consumers.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace fuseflow::testing {

/// Values are small integers. `declared`: intermediates are compressed; else the same program with
/// dense ones. Depends on nothing else but the seed.
Program filtered_codes(uint64_t seed, bool declared);

}  // namespace fuseflow::testing
