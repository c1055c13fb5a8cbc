// Ranges of results: interval arithmetic over f32, rounded outward, for the fill calculus
// (fill.cpp).
#pragma once

#include <span>

#include "ops/op.h"

namespace fuseflow {

/// Facts that hold only the range of the results that are numbers (the rest unknown), for operands
/// within the ranges of `operands`.
Facts result_range(Op op, std::span<const Facts> operands);

/// Facts that hold only the range of a reduction of `count` values with the facts `body`, in any
/// order and grouping, each partial result rounded to f32. A negative count: unknown, so that no
/// more than the sign is known.
Facts reduced_range(Reduction reduction, const Facts& body, double count);

}  // namespace fuseflow
