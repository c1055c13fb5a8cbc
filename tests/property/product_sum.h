// Random sums of products that share factors, for the property test of rewriting.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace fuseflow::testing {

/// Two to four matrix products of few matrices, added and subtracted: within one statement or
/// several, scaled by numbers and rows, of random extents, formats, fills and densities. Depends on
/// nothing but the seed.
Program product_sum(uint64_t seed);

}  // namespace fuseflow::testing
