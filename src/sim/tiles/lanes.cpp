#include "sim/tiles/lanes.h"

#include "resources/operators.h"

namespace fuseflow {

LaneWork& LaneWork::operator+=(const LaneWork& other) {
  vector += other.vector;
  compare += other.compare;
  special += other.special;
  return *this;
}

LaneWork operator*(int64_t factor, const LaneWork& work) {
  return {factor * work.vector, factor * work.compare, factor * work.special};
}

namespace {

int64_t& of_kind(LaneWork& work, Arithmetic part) {
  switch (part) {
    case Arithmetic::add:
    case Arithmetic::mul:
      return work.vector;
    case Arithmetic::compare:
      return work.compare;
    default:
      return work.special;
  }
}

}  // namespace

LaneWork lane_work(Op op) {
  const Parts parts = parts_of(op);
  LaneWork work;
  for (size_t a = 0; a < parts.size(); ++a) of_kind(work, static_cast<Arithmetic>(a)) += parts[a];
  return work;
}

LaneWork lane_work(Reduction reduction) {
  LaneWork work;
  of_kind(work, arithmetic_of(reduction)) = 1;
  return work;
}

double in_sums(const LaneWork& work, const Machine& machine) {
  return static_cast<double>(work.vector) +
         static_cast<double>(work.compare) / machine.core.comparison_rate_share;
}

double lane_cycles(const LaneWork& work, const Machine& machine) {
  const auto at = [](double operations, double a_cycle) {
    return a_cycle > 0 ? operations / a_cycle : 0;
  };
  return at(in_sums(work, machine), machine.core.vector_operations_per_cycle) +
         at(static_cast<double>(work.special), machine.core.special_operations_per_cycle);
}

}  // namespace fuseflow
