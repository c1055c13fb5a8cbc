// Streams of a run in which times are replayed: when an output's latest tokens were given, and for
// each consumer when they were taken. Nothing but times; the tokens are elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine/time_ring.h"
#include "sim/memory/dram.h"
#include "sim/run.h"

namespace fuseflow::engine {

class Fifo;

/// Where the bursts of a memory FIFO are asked for.
struct MemoryPort {
  Memory* memory = nullptr;
  uint32_t id = 0;
  bool write = false;
  std::deque<uint64_t> addresses;  ///< of the bursts still to be requested, in order
};

/// What an output gives: the times, which all its consumers read. With a memory port, giving a
/// token requests a burst, and the times are those at which memory has answered it.
class Gives {
 public:
  TimeRing times;
  int64_t given = 0;
  int64_t known = 0;  ///< tokens whose times are known: memory answers later
  MemoryPort* memory = nullptr;
  std::vector<Fifo*> readers;
  const int64_t* settled = nullptr;  ///< no more tokens are given before this time, if known
  std::vector<std::vector<TokenRecord>*> records;  ///< where times are to be kept, if anywhere

  /// Room for so many more tokens.
  void reserve(int64_t count) {
    if (given + count - kept_ > times.size()) make_room(count);
  }
  void give(int64_t time) {
    reserve(1);
    for (auto* record : records) (*record)[static_cast<size_t>(given)].time = time;
    if (memory == nullptr) {
      times[given++] = time;
      known = given;
    } else {
      request(time);
    }
  }
  void answer(int64_t number, int64_t time);

 private:
  void make_room(int64_t count);
  void request(int64_t time);

  int64_t last_answer_ = 0;  ///< of the known ones
  int64_t kept_ =
      0;  ///< the oldest token whose time may still be asked for, as far as it was looked up
};

/// The tokens between an output and one consumer. The depth of one with a memory port is the number
/// of bursts that the port may have outstanding; a write is taken when it is acknowledged.
class Fifo {
 public:
  Gives* source = nullptr;
  int64_t latency = 1;
  int64_t depth = 0;  ///< 0: unbounded
  bool peak_wanted = true;
  size_t taker = SIZE_MAX;  ///< among those that are replayed now
  TimeRing takes;
  int64_t taken = 0;

  Fifo(Gives& from, int64_t fifo_depth) : source(&from), depth(fifo_depth) {
    from.readers.push_back(this);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  /// Tokens that can be taken, now or at a known later time.
  int64_t held() const { return source->known - taken; }
  /// Tokens that can be given, now or at a known later time.
  int64_t room() const { return depth == 0 ? INT64_MAX : taken + depth - source->given; }
  int64_t arrival(int64_t ahead) const { return source->times[taken + ahead] + delay(); }
  int64_t delay() const { return source->memory == nullptr ? latency : 0; }
  /// The earliest time for the next token but `ahead`.
  int64_t credit(int64_t ahead) const {
    const int64_t index = source->given + ahead - depth;
    return depth == 0 || index < 0 ? INT64_MIN : takes[index] + 1;
  }
  void reserve(int64_t count) {
    if (taken + count - kept_ > takes.size()) make_room(count);
  }
  void take(int64_t time) {
    reserve(1);
    takes[taken++] = time;
  }

  /// The most tokens that it held, as far as that is decided by what is known.
  int64_t peak() {
    measure();
    return peak_;
  }
  /// The oldest give that is still asked for.
  int64_t oldest_give() const { return taken < measured_ ? taken : measured_; }
  void measure();

 private:
  int64_t oldest_take() const;
  void make_room(int64_t count);
  int64_t end_of_known() const;
  int64_t released_at(int64_t time, int64_t first, int64_t last) const;
  bool within_peak(int64_t first, int64_t end, int64_t last) const;
  void judge(int64_t first, int64_t end, int64_t released, int64_t last);

  int64_t measured_ = 0;  // gives judged for the peak
  int64_t released_ = 0;  // takes before the last give judged, or before all to come
  int64_t peak_ = 0;
  int64_t kept_ = 0;  // the oldest take that may still be asked for, as far as it was looked up
};

}  // namespace fuseflow::engine
