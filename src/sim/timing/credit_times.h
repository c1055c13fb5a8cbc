// Times of steps that wait for credits too: the recurrence of times.h with the takes of earlier
// tokens beside the arrivals. Used by what is bounded (buffer_model.h, credits.h).
#pragma once

#include <span>

#include "sim/common/activity.h"
#include "sim/data/times.h"

namespace fuseflow::engine {

/// Steps at .. at+count-1 of a batch wait each for the cycle behind one of these takes.
struct CreditPiece {
  uint32_t at = 0;
  uint32_t count = 0;
  TimeRef takes;
};

/// Whether no credit of the pieces delays any of these steps.
bool never_wait(const TimeRef& steps, std::span<const CreditPiece> credits);

/// Where the cycles in which only a credit was missing are noted.
struct Blocked {
  int64_t& cycles;           ///< added up
  Activity* when = nullptr;  ///< null: not asked for
};

/// Like step_times, with credits.
TimeRef step_times_with_credits(Pace& pace, std::span<const TimeRef> arrivals,
                                std::span<const CreditPiece> credits, uint32_t n, Blocked blocked);

/// Whether a[k] <= b[k] for all k < n.
bool never_later(const TimeRef& a, const TimeRef& b, uint32_t n);

/// Notes the cycles of n steps that last `interval` each.
void note_busy(Activity& activity, const TimeRef& steps, uint32_t n, int64_t interval);

}  // namespace fuseflow::engine
