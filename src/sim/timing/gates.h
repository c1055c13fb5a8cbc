// Single steps of a batch that wait for something, as arrivals of all steps. Of batch_clock.cpp
// only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/data/times.h"

namespace fuseflow::engine {

/// From step `at` of a batch on, a token is needed that arrives at `time`.
struct Gate {
  uint32_t at;
  int64_t time;
};

/// Adds one; steps are in order, so a gate behind a later one is as late.
inline void add_gate(std::vector<Gate>& gates, uint32_t at, int64_t time) {
  gates.push_back({at, gates.empty() ? time : std::max(gates.back().time, time)});
}

/// The gates (ascending in step and time) as arrival times of n steps; false if no gate can delay a
/// step (all are passed before `earliest`, or before the arrivals of `beside`, whose tokens the
/// same steps need).
bool gate_arrivals(std::span<const Gate> gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals);

/// Times of steps `at`[..] (in order) picked out of the times of all steps.
TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at);

}  // namespace fuseflow::engine
