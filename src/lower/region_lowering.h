// Makes the graph of the only region of a program, phase by phase. Private to lower.cpp.
#pragma once

#include <optional>
#include <vector>

#include "lower/lower.h"

namespace fuseflow {

/// A region that was analysed, its indices in the given order, which is legal.
LoweredRegion lower_analysed(const Program& program, const RegionIndices& indices,
                             const Expressions& expressions, const std::vector<int>& order,
                             const LowerOptions& options);

/// A region that is not analysed as a whole, but each of its phases by itself, once in all
/// (`options.known`, which is there). Nothing where what is wanted concerns several phases: loops
/// that cannot be shared, orders of a part of them, forms of joins, blocks, copies; or where a
/// phase is refused. The graph is the same. Throws LoweringConflict where an instance cannot be
/// made.
std::optional<LoweredRegion> lower_known_phases(const Program& program,
                                                const LowerOptions& options);

}  // namespace fuseflow
