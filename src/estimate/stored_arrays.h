// How many bytes the arrays of a tensor take, from statistics of it.
#pragma once

#include "estimate/statistics.h"
#include "ir/program.h"
#include "sim/common/stored_arrays.h"

namespace fuseflow::estimate {

constexpr double kArrayAlignment = 4096;  ///< bytes; ir-spec/memory.md, "Addresses"

using fuseflow::stored_arrays;
using fuseflow::StoredArrays;

StoredArrays stored_arrays(const Tensor& tensor, const TensorStatistics& statistics);

}  // namespace fuseflow::estimate
