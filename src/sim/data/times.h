// Times of the tokens of a stream, as runs where they are regular and one number a token where they
// are not. No graph, no payloads.
// How this is used: ir-spec/simulation.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/data/ends_of_time.h"
#include "sim/data/pool.h"

namespace fuseflow::engine {

/// The step of a piece whose tokens have a time each.
inline constexpr int64_t kExplicit = INT64_MIN;
/// Tokens; shorter runs are kept as a time each.
inline constexpr int64_t kLeastRun = 16;

/// Plain numbers, not written when the vector is made longer.
using TimeValues = std::vector<int64_t, UninitializedPoolAllocator<int64_t>>;

/// Tokens `first`.. (up to the next piece): start + step * (k - first), or Times::value[k].
struct TimePiece {
  uint32_t first = 0;
  int64_t start = 0;
  int64_t step = kExplicit;
};

/// Times of `count` tokens, never decreasing. Immutable once built.
struct Times {
  std::vector<TimePiece, PoolAllocator<TimePiece>> pieces;
  TimeValues value;  ///< by token; valid inside explicit pieces only
  uint32_t count = 0;
  /// Each time is at least this much later than the one before. A lower bound, not the least
  /// distance: step_times passes times on unchanged if it is not less than the interval, Occupancy
  /// skips batches by it. One that is too small is slow, one that is too large wrong.
  int64_t gap = 0;
};

/// The times of a range of tokens: those of `times` from token `offset`, `delta` later. A node that
/// keeps the pace of its input passes the same times on with another delta, at no cost a token.
struct TimeRef {
  std::shared_ptr<const Times> times;
  uint32_t offset = 0;
  int64_t delta = 0;

  int64_t at(uint32_t k) const;  ///< by bisection; a TimeCursor reads in order
  TimeRef from(uint32_t k) const { return {times, offset + k, delta}; }
  TimeRef later(int64_t by) const { return {times, offset, delta + by}; }
};

/// Reads times at positions that do not decrease.
class TimeCursor {
 public:
  TimeCursor() = default;
  explicit TimeCursor(const TimeRef& ref);

  int64_t at(uint32_t k) {
    k += offset_;
    if (k >= end_) seek(k);
    return step_ == kExplicit ? value_[k] + delta_ : base_ + step_ * static_cast<int64_t>(k);
  }
  /// Position after the piece that holds k (relative to the reference); at(k) must have been
  /// asked.
  uint32_t piece_end() const { return end_ - offset_; }
  int64_t step() const { return step_; }  ///< of the current piece
  /// Explicit piece: pointer to the time of position k, without delta().
  const int64_t* values(uint32_t k) const { return value_ + offset_ + k; }
  int64_t delta() const { return delta_; }

 private:
  void seek(uint32_t k);

  const Times* times_ = nullptr;
  const int64_t* value_ = nullptr;
  uint32_t offset_ = 0;
  uint32_t end_ = 0;    // of the current piece, in tokens of times_
  uint32_t piece_ = 0;  // the next piece
  int64_t base_ = 0;    // start - step * first + delta
  int64_t step_ = kExplicit;
  int64_t delta_ = 0;
};

/// Collects times in token order. Short runs become explicit, long ones stay runs.
class TimesBuilder {
 public:
  explicit TimesBuilder(int64_t gap = 1) : gap_(gap) {}

  /// n tokens at start, start + step, ...
  void append(uint32_t n, int64_t start, int64_t step) {
    if (n == 0) return;
    if (pending_ != 0 && continues(n, start, step)) {
      pending_ += n;
      return;
    }
    if (pending_ != 0) flush();
    pending_ = n;
    start_ = start;
    step_ = step;
  }
  /// One token.
  void append(int64_t time) { append(1, time, 0); }
  /// Room for n explicit times, to be filled by the caller; then commit(how many were used).
  int64_t* reserve(uint32_t n);
  void commit(uint32_t n);

  void set_gap(int64_t gap) { gap_ = gap; }
  uint32_t size() const { return count_ + pending_; }
  std::shared_ptr<const Times> finish();

 private:
  bool continues(uint32_t n, int64_t start, int64_t step) {
    const bool follows = pending_ == 1 || start == start_ + step_ * static_cast<int64_t>(pending_);
    if (!follows) return false;
    if (pending_ == 1 && n == 1) {
      step_ = start - start_;
      return true;
    }
    if (pending_ == 1) {
      if (start != start_ + step) return false;
      step_ = step;
      return true;
    }
    return n == 1 || step == step_;
  }
  void flush();
  void room(uint32_t total);

  std::vector<TimePiece, PoolAllocator<TimePiece>> pieces_;
  TimeValues value_;
  uint32_t count_ = 0;    // flushed tokens
  uint32_t pending_ = 0;  // tokens of the run not flushed yet
  int64_t start_ = 0;
  int64_t step_ = 0;
  int64_t gap_;
};

/// Appends the first n times of `ref`.
void append_times(TimesBuilder& times, const TimeRef& ref, uint32_t n);

}  // namespace fuseflow::engine
