// Simulates the points of a search, in waves of a fixed list: what a point has to beat is decided
// before each wave, so that the order of events does not depend on threads. In which order, and
// what has to be beaten, is said by promise.h and goals.h.
#pragma once

#include "explore/search_state.h"

namespace fuseflow {

/// Afterwards no trial is open, but for an interrupt.
void simulate_points(SearchState& state);

}  // namespace fuseflow
