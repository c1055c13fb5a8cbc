// The output of a buffer that holds a bounded number of tokens, where the bound delays a consumer:
// the buffer gives a token only once the takes that it waits for are known. Beside buffer_model.h,
// which is for buffers whose bound delays nobody but the buffer.
#pragma once

#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "sim/data/times.h"
#include "sim/timing/credit_times.h"

namespace fuseflow::engine {

class Credits {
 public:
  Credits(int64_t capacity, size_t consumers) : capacity_(capacity), consumers_(consumers) {}

  /// A consumer takes the next n tokens at these times.
  void take(size_t consumer, const TimeRef& takes, uint32_t n);
  /// How many tokens can be given whose credits are known.
  int64_t room() const;
  /// Times of the next n steps, n <= room(): like step_times, but each token k waits also for the
  /// cycle behind the take of token k - capacity. Notes the cycles for which only that was missing.
  TimeRef steps(Pace& pace, std::span<const TimeRef> arrivals, uint32_t n, Blocked blocked);

 private:
  struct Span {
    int64_t first;
    uint32_t count;
    TimeRef times;
    int64_t end() const { return first + count; }
  };
  struct Consumer {
    std::deque<Span> takes;  ///< of the last capacity_ tokens given, at least
    int64_t taken = 0;
  };
  void forget();

  const int64_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<Consumer> consumers_;
  int64_t given_ = 0;
};

}  // namespace fuseflow::engine
