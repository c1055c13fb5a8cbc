// Single steps of a batch that wait for something, as arrivals of all steps. Of batch_clock.cpp
// only.
#pragma once

#include <cstdint>
#include <span>

#include "sim/data/times.h"
#include "sim/timing/waits.h"

namespace fuseflow::engine {

/// The gates (ascending in step and time) as arrival times of n steps; false if no gate can delay a
/// step (all are passed before `earliest`, or before the arrivals of `beside`, whose tokens the
/// same steps need).
bool gate_arrivals(const Waits& gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals);

/// Times of steps `at`[..] (in order) picked out of the times of all steps.
TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at);

}  // namespace fuseflow::engine
