// Random chains of matrix products, for the property test of rewriting.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace fuseflow::testing {

/// Three or four matrices multiplied in a random order, a vector that scales or divides rows on the
/// way, of random extents, formats and densities. Depends on nothing but the seed.
Program product_chain(uint64_t seed);

}  // namespace fuseflow::testing
