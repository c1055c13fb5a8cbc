// Dimensions put together and cut apart where no affine index does it.
#pragma once

#include "import/values/view.h"

namespace fuseflow {

/// The elements of a view in row-major order with every dimension a single atom: each element is
/// looked for at its place, which takes a step for every pair of places. Throws Error(rejected)
/// above 2^24 elements, whose places f32 does not tell apart.
View regrouped_view(const View& value, const std::vector<int64_t>& shape);

}  // namespace fuseflow
