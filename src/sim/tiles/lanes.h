// Elementwise work on a core's vector lanes: how many operations of either kind an operator is, and
// how long they take. Of kernels and chains alike.
#pragma once

#include <cstdint>

#include "machine/machine.h"
#include "ops/op.h"

namespace fuseflow {

/// Operations of lanes: sums, products and comparisons; divisions, roots, exponentials.
struct LaneWork {
  int64_t vector = 0, special = 0;
  LaneWork& operator+=(const LaneWork& other);
  bool operator==(const LaneWork&) const = default;
};
LaneWork operator*(int64_t factor, const LaneWork& work);

/// Of one evaluation of an operator: the parts that energy prices.
LaneWork lane_work(Op op);

/// Both kinds are issued one after the other; a rate of 0 is free.
double lane_cycles(const LaneWork& work, const Machine& machine);

}  // namespace fuseflow
