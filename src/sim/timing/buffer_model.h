// The output of a buffer that holds a bounded number of tokens, in a run without any other bound:
// its tokens are given on as if it had no bound, and its real steps are worked out once its
// consumers' takes are known. Exact as long as no token comes too late for a step that takes it;
// else the whole graph has to be solved with credits (bounded.h).
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/common/run_result.h"
#include "sim/timing/credit_times.h"
#include "sim/timing/occupancy.h"

namespace fuseflow::engine {

class BufferModel {
 public:
  BufferModel(int64_t capacity, int64_t interval, int64_t latency, int64_t input_latency,
              size_t consumers)
      : capacity_(capacity),
        latency_(latency),
        input_latency_(input_latency),
        consumers_(consumers) {
    pace_.interval = interval;
    pace_.floor = INT64_MIN / 2;  // arrivals are never earlier than the phase
  }

  /// The buffer's next n tokens arrive at these times, and would be given at these without a bound.
  void arrive(const TimeRef& arrivals, const TimeRef& gives, uint32_t n);
  /// A consumer takes the next n tokens.
  void take(size_t consumer, const TimeRef& takes, uint32_t n);

  bool too_late() const { return too_late_; }
  int64_t input_peak() const { return input_.peak(); }
  int64_t peak(size_t consumer) const { return consumers_[consumer].occupancy.peak(); }
  /// The buffer's counts that depend on the bound; puts the record's times right. At the end.
  void fill(NodeStats& stats) const;
  uint64_t timing_steps() const { return pace_.timing_steps; }
  Activity* activity = nullptr;                ///< where to note busy cycles, if anywhere
  Activity* stalls = nullptr;                  ///< the same for blocked ones
  std::vector<TokenRecord>* record = nullptr;  ///< of the stream: its times are put right

 private:
  struct Span {
    int64_t first;
    uint32_t count;
    TimeRef times;
    int64_t end() const { return first + count; }
    TimeRef at(int64_t token) const { return times.from(static_cast<uint32_t>(token - first)); }
  };
  struct Consumer {
    std::deque<Span> takes;  ///< of tokens not settled, and the last capacity_ that are
    size_t next = 0;         ///< the span of the next token to be settled
    int64_t taken = 0;
    Occupancy occupancy;
  };
  void settle(uint32_t n);
  void find_credits(uint32_t n);
  void forget(uint32_t n);

  const int64_t capacity_;
  const int64_t latency_;
  const int64_t input_latency_;
  std::mutex mutex_;  // guards all below
  std::vector<Consumer> consumers_;
  std::deque<Span> arrivals_;  // of tokens not settled
  std::deque<Span> gives_;     // the same
  int64_t arrived_ = 0;
  int64_t settled_ = 0;
  Pace pace_;
  std::vector<CreditPiece> credits_;  // of the batch at hand
  int64_t first_ = -1;
  int64_t blocked_ = 0;
  std::vector<std::pair<int64_t, int64_t>> put_right_;  // of the record: tokens and their times
  Occupancy input_;
  std::atomic<bool> too_late_ = false;
};

}  // namespace fuseflow::engine
