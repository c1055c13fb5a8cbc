// Elementwise work on a core's vector lanes: how many operations of each kind an operator or a
// reduction is, and how long they take. Of kernels and chains alike.
#pragma once

#include <cstdint>

#include "machine/machine.h"
#include "ops/op.h"

namespace fuseflow {

/// Operations of lanes.
struct LaneWork {
  int64_t vector = 0;   ///< sums and products
  int64_t compare = 0;  ///< comparisons, maxima, minima, choices
  int64_t special = 0;  ///< divisions, roots, exponentials
  LaneWork& operator+=(const LaneWork& other);
  bool operator==(const LaneWork&) const = default;
};
LaneWork operator*(int64_t factor, const LaneWork& work);

/// The lanes' work for one evaluation of an operator: the parts that energy prices.
LaneWork lane_work(Op op);

/// The lanes' work for combining one more value.
LaneWork lane_work(Reduction reduction);

/// Sums and comparisons, in sums: a comparison takes as long as 1 / core.comparison_rate_share
/// sums.
double in_sums(const LaneWork& work, const Machine& machine);

/// All kinds are issued one after the other; a rate of 0 is free.
double lane_cycles(const LaneWork& work, const Machine& machine);

}  // namespace fuseflow
