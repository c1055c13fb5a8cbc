// The two ends of a stream: an output gives segments to the ports of its consumers, a port hands
// them out in batches. Ports are the only place where two nodes (and so two threads) meet.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "sim/common/run_result.h"
#include "sim/functional/block_pool.h"
#include "sim/functional/tokens.h"

namespace fuseflow::engine {

inline constexpr size_t kCacheLine = 64;  ///< what two threads write lies in two of them

/// Any number of tokens, all long ago: they delay nothing, and cost nothing. Stands for times that
/// are not known yet, or not asked for.
const TimeRef& long_ago();

/// A segment whose stops are found: the next tokens of a port.
struct Batch : Segment {
  std::span<const Stop> stops;  ///< those inside; their `at` counts from the structure's start

  uint32_t at(const Stop& stop) const { return stop.at - begin; }  ///< position in the batch
};

/// The n tokens of a segment from its token `first` on, `first_stop` being the first stop there.
Batch part_of(const Segment& segment, uint32_t first, uint32_t first_stop, uint32_t n);
/// A whole segment.
inline Batch all_of(const Segment& segment) {
  return part_of(segment, 0, segment.first_stop, segment.count);
}

/// Makes one segment of several short ones, which follow one another in a stream and whose payloads
/// are words, not names of blocks. What a batch costs besides its tokens (memory for its parts,
/// looking for the next node) is about what a hundred tokens cost, and after a reduction or a
/// sparse intersection segments are that short.
Segment coalesce(std::span<const Segment> parts);

/// Calls each(k) for the payloads among the first n tokens, stop(k, Stop) for the others, in order.
template <typename Each, typename Stops>
void for_each_token(const Batch& like, uint32_t n, Each&& each, Stops&& stop) {
  uint32_t k = 0;
  for (const Stop& s : like.stops) {
    const uint32_t at = like.at(s);
    if (at >= n) break;
    for (; k < at; ++k) each(k);
    stop(k++, s);
  }
  for (; k < n; ++k) each(k);
}

/// Called when tokens of a port are given and taken, by the consumer's thread.
class PortObserver {
 public:
  virtual ~PortObserver() = default;
  /// Tokens that have come; their times may be taken out of them.
  virtual void arrive(Segment&) {}
  /// The next n tokens.
  virtual void take(const TimeRef& gives, const TimeRef& takes, uint32_t n) = 0;
};

class alignas(kCacheLine) Port {
 public:
  int64_t latency = 1;  ///< of the producer: a token given at t arrives at t + latency
  int producer = -1;    ///< node
  int consumer = -1;    ///< node
  bool blocks = false;  ///< payloads are names of blocks, which have to be kept
  PortObserver* observer = nullptr;
  bool untimed = false;           ///< its tokens pass before their times are known
  bool elsewhere = false;         ///< producer and consumer are worked by different threads
  bool takes_run_length = false;  ///< the consumer takes such payloads as they are, or reads none
  uint32_t few = 0;               ///< segments of so many tokens at most are made one; 0: none is

  void push(const Segment& segment);
  /// Fetches what was pushed by another thread. Needed before `elsewhere` changes.
  void import();

  /// Tokens of the first segment that are still here; 0 if there are none.
  uint32_t ready();
  Batch batch(uint32_t n) const;  ///< the next n tokens, n <= ready()
  /// What keeps the payloads of the next n tokens.
  std::vector<std::shared_ptr<const void>> keepers(uint32_t n) const;
  /// Drops the next n tokens (of one or more segments), which were taken at these times.
  void take(uint32_t n, TimeRef times);

  // Arrivals of the tokens that are here (if ready() was asked):
  TimeRef arrivals() const { return segments_.front().arrivals.from(used_); }
  int64_t arrival(uint32_t k) const;  ///< of the k-th

  int64_t waiting() const {
    // In this order: never less than what really waits.
    const int64_t taken = taken_.load(std::memory_order_relaxed);
    return pushed_.load(std::memory_order_relaxed) - taken;
  }
  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  friend class PortCursor;
  friend class ArrivalCursor;
  void take_from_first(uint32_t n);

  void append(Segment&& segment);
  void coalesce_first();

  // The consumer's:
  std::deque<Segment> segments_;
  uint32_t used_ = 0;       // tokens of the first segment that are gone
  uint32_t next_stop_ = 0;  // of the first segment: the first stop not gone
  alignas(kCacheLine) std::atomic<int64_t> taken_ = 0;
  // The producer's:
  alignas(kCacheLine) std::atomic<int64_t> pushed_ = 0;
  // Where both meet, if they are worked by different threads:
  alignas(kCacheLine) std::mutex mutex_;
  std::vector<Segment> inbox_;  // guarded by mutex_
  std::atomic<int64_t> inbox_size_ = 0;
};

/// Reads the tokens of a port one by one, without taking them, over all segments that are here.
class PortCursor {
 public:
  explicit PortCursor(Port& port) : port_(&port) {}

  /// Whether the token at the cursor is here.
  bool here() {
    if (k_ < end_) return true;
    return next_segment();
  }
  // The following need here().
  bool is_payload() const { return k_ < stop_at_; }
  const Stop& stop() const { return *stop_; }
  uint32_t word() const { return words_ == nullptr ? 0 : words_[k_]; }
  void advance() {
    if (k_ == stop_at_) find_stop(stop_ + 1);
    ++k_;
  }

 private:
  bool next_segment();
  void find_stop(const Stop* stop) {
    stop_ = stop;
    stop_at_ = stop_ < stops_end_ ? stop_->at - begin_ : UINT32_MAX;
  }

  Port* port_;
  size_t segment_ = SIZE_MAX;  // the current one; none yet: SIZE_MAX
  uint32_t k_ = 0;             // in the segment
  uint32_t end_ = 0;
  uint32_t begin_ = 0;
  uint32_t stop_at_ = UINT32_MAX;
  const Stop* stop_ = nullptr;
  const Stop* stops_end_ = nullptr;
  const uint32_t* words_ = nullptr;
};

/// Reads the arrivals of a port's tokens one by one, over all segments that are here.
class ArrivalCursor {
 public:
  explicit ArrivalCursor(const Port& port) : port_(&port) {}
  int64_t next() {
    if (k_ == end_) next_segment();
    return times_.at(k_++);
  }

 private:
  void next_segment();

  const Port* port_;
  size_t segment_ = 0;  // the next one
  uint32_t k_ = 0;
  uint32_t end_ = 0;
  TimeCursor times_;
};

/// A node's end of a stream.
class alignas(kCacheLine) Output {
 public:
  StreamId stream = -1;
  std::vector<Port*> ports;
  bool payload_read = false;  ///< some consumer reads the payloads
  int64_t latency = 1;
  int64_t weight = 1;               ///< how many plain tokens one of these is worth in host memory
  const BlockPool* pool = nullptr;  ///< set if payloads are names of blocks
  int64_t volume = 1;               ///< of those blocks
  std::atomic<int64_t> tokens = 0;
  std::vector<TokenRecord>* record = nullptr;

  bool connected() const { return !ports.empty(); }
  /// Gives tokens at these times.
  void give(Segment segment, const TimeRef& times) {
    give_untimed(segment);
    give_timed(std::move(segment), times);
  }
  /// give() in two steps: what needs no times, and the rest when they are known.
  void give_untimed(const Segment& segment);
  void give_timed(Segment segment, const TimeRef& times);
  /// Whether there is such a rest.
  bool wants_times() const {
    return record != nullptr ||
           std::any_of(ports.begin(), ports.end(), [](const Port* port) { return !port->untimed; });
  }

 private:
  void keep(Segment segment, const TimeRef& times);
};

}  // namespace fuseflow::engine
