// What each search may take: the one place that says it, in effort of the cost model
// (CostModel::effort): nodes that are lowered and judged, of which one takes 2 to 8 us, the less
// the more phases of a region were there before.
#pragma once

#include <algorithm>
#include <cstddef>

namespace fuseflow {

/// How many times the best one's cycles a program may take before it is searched, and still be
/// searched: placements, orders and copies hardly make up for more.
inline constexpr double kOutOfReach = 12;

/// How much more a search may gain for one program, or one partition, than it did for another.
inline constexpr double kMoreGain = 2;

/// As kOutOfReach, with the copies of loops that a little effort finds: what else is searched gains
/// less.
inline constexpr double kProbeReach = 4;
inline constexpr double kProbeEffort = 10'000;

/// Nodes that a statement becomes, about.
inline constexpr double kNodesOfStatement = 13;

/// Placements and orders of one region: some eighty sets of placements of a long one, whose
/// statements take about 13 nodes each. What is near the limit of the region is tried first
/// (near_limit.h), so that what matters is mostly among these. Of a short one the orders take most.
inline double store_effort(size_t statements) {
  return std::clamp(1200.0 * static_cast<double>(statements), 100'000.0, 240'000.0);
}

/// The same for all regions together that are searched beside the first suggested partition.
inline constexpr double kOtherStoresEffort = 120'000;

/// Of the effort of a region, at least: parallel copies of its loops, where the machine has a
/// number of units. They also have what is left by what comes before them.
inline constexpr double kCopiesShare = 0.25;

/// Runs of kernels as regions with default placements, beyond the kernels themselves and what was
/// suggested.
inline constexpr double kMixtureEffort = 30'000;

/// Orders of the dimensions of sparse tensors, for a whole program each, after `before` was spent.
inline double transpose_effort(double before) {
  return std::max(30'000.0, 0.15 * before);
}

/// Formats of stored tensors, after `before` was spent on the program.
inline double storage_effort(double before) {
  return std::max(10'000.0, 0.1 * before);
}

}  // namespace fuseflow
