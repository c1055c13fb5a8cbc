// Streams of a run in which times are replayed: when an output's latest tokens were given, and for
// each consumer when they were taken. Nothing but times; the tokens are elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/memory/dram.h"
#include "sim/timing/fed_peak.h"
#include "sim/timing/time_lines.h"

namespace fuseflow::engine {

class Fifo;

/// Where the bursts of a memory FIFO are asked for.
struct MemoryPort {
  Memory* memory = nullptr;
  uint32_t id = 0;
  bool write = false;
  std::deque<uint64_t> addresses;  ///< of the bursts still to be requested, in order
  bool in_batches = false;         ///< the answers are an input of the node that asks
};

/// What an output gives: the times, which all its consumers read. With a memory port, giving a
/// token requests a burst, and the times are those at which memory has answered it. Its tokens:
///
///     dropped | times kept .. known() | requested .. given
class OutputTimes {
 public:
  TimeLines times;
  int64_t given = 0;
  MemoryPort* memory = nullptr;
  std::vector<Fifo*> readers;
  size_t giver = SIZE_MAX;  ///< side of its component; none if given from outside
  /// No further token is given before this time (null: unknown), so that older takes can be
  /// dropped.
  const int64_t* settled = nullptr;
  /// The times of tokens from this one on are kept, besides those that the readers need.
  int64_t kept_from = INT64_MAX;

  /// Tokens whose times are known: memory answers later.
  int64_t known() const { return times.end(); }
  /// Room for so many more tokens.
  void reserve(int64_t count) {
    if (times.lacks(count)) make_room(count);
  }
  void give(int64_t time) {
    if (memory != nullptr) return request(time);
    reserve(1);
    times.append(time);
    note_given();
  }
  /// Tokens were added to `times`.
  void note_given() { given = times.end(); }
  void answer(int64_t number, int64_t time);
  /// When a burst that is not known yet was requested.
  int64_t requested_at(int64_t number) const { return pending_[number - known()].requested; }

 private:
  struct Pending {
    int64_t requested = 0;
    int64_t answered = -1;  // not yet
  };
  void make_room(int64_t count);
  void request(int64_t time);

  std::deque<Pending> pending_;  // by number, from known() on: memory answers in any order
  int64_t last_answer_ = 0;      // of the known ones
};

/// The tokens between an output and one consumer. The depth of one with a memory port is the number
/// of bursts that the port may have outstanding; a write is taken when it is acknowledged.
class Fifo {
 public:
  OutputTimes* source = nullptr;
  int64_t latency = 1;
  int64_t depth = 0;  ///< 0: unbounded
  bool peak_wanted = true;
  std::unique_ptr<FedPeak> fed;  ///< measures it, if it is given from outside
  size_t taker = SIZE_MAX;       ///< among those that are replayed now
  int64_t blocked = 0;           ///< cycles in which a step lacked only room, and this came last
  TimeLines takes;
  TimeLines::Cursor next_give;    ///< in the times of the source: near the next token to be taken
  TimeLines::Cursor next_credit;  ///< in `takes`: near what the next token to be given waits for

  Fifo(OutputTimes& from, int64_t fifo_depth) : source(&from), depth(fifo_depth) {
    from.readers.push_back(this);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  int64_t taken() const { return takes.end(); }
  /// Tokens that can be taken, now or at a known later time.
  int64_t held() const { return source->known() - taken(); }
  /// Tokens that can be given, now or at a known later time.
  int64_t room() const { return depth == 0 ? INT64_MAX : taken() + depth - source->given; }
  /// When the token arrives that is taken after the next `ahead` ones.
  int64_t arrival(int64_t ahead) const {
    return source->times.at(taken() + ahead, next_give) + delay();
  }
  int64_t delay() const { return source->memory == nullptr ? latency : 0; }
  /// The earliest time at which the token can be given that comes after the next `ahead` ones.
  int64_t credit(int64_t ahead) const {
    const int64_t index = source->given + ahead - depth;
    return depth == 0 || index < 0 ? INT64_MIN : takes.at(index, next_credit) + 1;
  }
  void reserve(int64_t count) {
    if (takes.lacks(count)) make_room(count);
  }
  void take(int64_t time) {
    reserve(1);
    takes.append(time);
  }

  /// The most tokens that it held, as far as that is decided by what is known.
  int64_t peak() {
    measure();
    return fed ? fed->peak() : peak_;
  }
  /// The oldest give whose time is still needed.
  int64_t oldest_give() const { return taken() < measured_ ? taken() : measured_; }
  void measure();

 private:
  int64_t oldest_take() const;
  void make_room(int64_t count);
  int64_t end_of_known() const;
  /// How many takes, of first .. last-1 at least the former, are before a time.
  int64_t released_at(int64_t time, int64_t first, int64_t last) const {
    return takes.first_from(time, first, last, released_at_);
  }
  int64_t give_time(int64_t k) const { return source->times.at(k, measured_at_); }
  bool within_peak(int64_t first, int64_t end, int64_t released, int64_t last) const;
  void judge(int64_t first, int64_t end, int64_t released, int64_t last);
  void measured_up_to(int64_t end, int64_t released);

  int64_t measured_ = 0;           // gives judged for the peak
  TimeLines::Cursor measured_at_;  // in the source's times
  int64_t released_ = 0;           // takes before the last give judged, or before all to come
  TimeLines::Cursor released_at_;  // in `takes`
  int64_t peak_ = 0;
};

}  // namespace fuseflow::engine
