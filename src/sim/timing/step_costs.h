// Whether the steps of a batch can be timed at all: what they cost, before any time is computed.
#pragma once

#include <algorithm>

#include "sim/data/steps.h"
#include "support/latest.h"

namespace fuseflow::engine {

/// Throws TimeOverflow if the steps alone take longer than can be counted, so that no sum of their
/// costs wraps. Once a batch.
inline void check_costs(const Steps& steps) {
  double cycles = 0;  // rounded, but never wrapped
  steps.for_stages([&](const Stage& stage) {
    const auto cost = static_cast<double>(std::max(stage.cost, stage.last_cost));
    cycles += static_cast<double>(stage.count) * cost;
  });
  if (cycles > static_cast<double>(kLatest)) throw TimeOverflow{};
}

}  // namespace fuseflow::engine
