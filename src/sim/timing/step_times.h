// Times of the steps of a batch as pieces (data/times.h): the recurrence over whole runs, single
// steps that wait for something, times of some steps out of those of all. Of batch_clock.cpp only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/data/times.h"
#include "sim/timing/waits.h"

namespace fuseflow::engine {

/// The last step of a node and how far apart its steps are.
struct Pace {
  int64_t free = 0;  ///< no step is earlier: when the last one has ended, or the phase starts
  int64_t interval = 1;
  int64_t last = kLongAgo;  ///< time of the last step

  void stepped_at(int64_t time) {
    last = time;
    free = time + interval;
  }
};

/// Times of n steps, each of which needs token k of every input: t[k] = max(t[k-1] + interval,
/// arrivals[..][k]). Returns the step times, advances the pace, and leaves of `arrivals` those that
/// can bind. Inputs that cannot cost nothing, and a single input that keeps its distance is passed
/// on unchanged.
TimeRef step_times(Pace& pace, std::vector<TimeRef>& arrivals, uint32_t n);

/// The gates (ascending in step and time) as arrival times of n steps; false if no gate can delay a
/// step (all are passed before `earliest`, or before the arrivals of `beside`, whose tokens the
/// same steps need).
bool gate_arrivals(const Waits& gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals);

/// Times of steps `at`[..] (in order) picked out of the times of all steps.
TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at);

}  // namespace fuseflow::engine
