#include "sim/tiles/lanes.h"

#include "resources/operators.h"

namespace fuseflow {

LaneWork& LaneWork::operator+=(const LaneWork& other) {
  vector += other.vector;
  special += other.special;
  return *this;
}

LaneWork operator*(int64_t factor, const LaneWork& work) {
  return {factor * work.vector, factor * work.special};
}

LaneWork lane_work(Op op) {
  const Parts parts = parts_of(op);
  LaneWork work;
  for (size_t a = 0; a < parts.size(); ++a) {
    (a < static_cast<size_t>(Arithmetic::div) ? work.vector : work.special) += parts[a];
  }
  return work;
}

double lane_cycles(const LaneWork& work, const Machine& machine) {
  const auto at = [](int64_t operations, double a_cycle) {
    return a_cycle > 0 ? static_cast<double>(operations) / a_cycle : 0;
  };
  return at(work.vector, machine.core.vector_operations_per_cycle) +
         at(work.special, machine.core.special_operations_per_cycle);
}

}  // namespace fuseflow
