// Tokens and streams of the naive executor: a queue of timed tokens with one cursor a consumer.
// Knows credits and peaks (ir-spec/timing.md), not nodes. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow::naive {

/// One token. For a stop, bit b of `bits` says that boundary b closes a real element's fiber.
struct Token {
  int64_t time = 0;      ///< of the step that gave it
  uint32_t payload = 0;  ///< payloads only; a value's f32 bits
  uint32_t bits = 0;     ///< stops only
  int8_t stop = TokenRecord::kPayload;
  std::shared_ptr<const std::vector<float>> block = {};  ///< blocks only: all values, row-major

  bool is_payload() const { return stop == TokenRecord::kPayload; }
  bool is_done() const { return stop == TokenRecord::kDone; }
  bool is_stop() const { return !is_payload() && !is_done(); }
  bool closes(int boundary = 0) const { return ((bits >> boundary) & 1U) != 0; }
};

inline Token payload_token(uint32_t payload) {
  return {.payload = payload};
}
inline Token done_token() {
  return {.stop = TokenRecord::kDone};
}
inline Token stop_token(int level, uint32_t bits) {
  return {.bits = bits, .stop = static_cast<int8_t>(level)};
}

/// A consumer's side of a stream: what it took, when, and how full its FIFO was.
class Reader {
 public:
  int64_t blocked = 0;  ///< cycles in which a step of the producer lacked room, this last

  explicit Reader(NodeId node) : node_(node) {}

  NodeId node() const { return node_; }
  int64_t taken() const { return taken_; }
  int64_t peak() const { return peak_; }
  /// The time at which token `index` was taken (it must have been, not long ago).
  int64_t take_time(int64_t index) const { return times_[index - base_]; }

  void take(int64_t time) {
    times_.push_back(time);
    ++taken_;
  }

  /// Works out how many tokens are held at each give that can be judged: those before the first
  /// unknown take. Token k meets the tokens that are not taken before its own time.
  template <typename GiveTime>
  void measure(int64_t given, const GiveTime& give_time) {
    for (; measured_ < given; ++measured_) {
      const int64_t time = give_time(measured_);
      while (released_ < taken_ && take_time(released_) < time) ++released_;
      if (released_ == taken_ && released_ < measured_) return;  // a take is not known yet
      peak_ = std::max(peak_, measured_ - released_ + 1);
    }
  }

  /// Forgets take times that neither a credit (of `depth` tokens back) nor a peak can ask for.
  void trim(int64_t depth) {
    const int64_t keep = std::max<int64_t>(0, std::min(released_, taken_ - depth));
    if (keep - base_ < 4096) return;
    times_.erase(times_.begin(), times_.begin() + (keep - base_));
    base_ = keep;
  }

 private:
  NodeId node_;
  int64_t taken_ = 0;
  int64_t measured_ = 0;  ///< gives judged so far
  int64_t released_ = 0;  ///< takes before the time of the give being judged
  int64_t peak_ = 0;
  int64_t base_ = 0;
  std::vector<int64_t> times_;
};

/// A stream: the tokens that some reader has still to take, and a little more.
class Channel {
 public:
  StreamId id = -1;
  NodeId producer = -1;
  int64_t latency = 1;  ///< of the producer
  int64_t depth = 0;    ///< 0: unbounded
  std::vector<Reader> readers;
  std::vector<TokenRecord>* record = nullptr;

  bool connected() const { return !readers.empty(); }
  int64_t given() const { return given_; }
  int64_t held() const { return tokens_held(slowest()); }
  int64_t bytes() const { return static_cast<int64_t>(tokens_.capacity() * sizeof(Token)); }

  /// The token `ahead` of the reader's head, or null when it has not been given yet.
  const Token* peek(size_t reader, int64_t ahead) const {
    const int64_t index = readers[reader].taken() + ahead;
    return index < given_ ? &tokens_[index - base_] : nullptr;
  }

  /// The earliest time for the token `ahead` of the next to be given: -1 when a consumer must first
  /// take a token, 0 when the stream has room anyway.
  int64_t credit(int64_t ahead) const {
    if (depth == 0) return 0;
    const int64_t index = given_ + ahead - depth;
    int64_t earliest = 0;
    for (const Reader& reader : readers) {
      if (index < 0) continue;
      if (index >= reader.taken()) return -1;
      earliest = std::max(earliest, reader.take_time(index) + 1);
    }
    return earliest;
  }

  /// A step could give the token `ahead` of the next from `ready` on, but for room, and does so at
  /// `time`: counts the wait for the readers whose room came last.
  void charge(int64_t ahead, int64_t ready, int64_t time) {
    const int64_t index = given_ + ahead - depth;
    if (depth == 0 || index < 0 || time <= ready) return;
    for (Reader& reader : readers) {
      if (reader.take_time(index) + 1 == time) reader.blocked += time - ready;
    }
  }

  void give(const Token& token) {
    tokens_.push_back(token);
    ++given_;
    if (record != nullptr) {
      record->push_back({token.stop, token.closes(), token.payload, token.time});
    }
  }

  void take(size_t reader, int64_t time) {
    readers[reader].take(time);
    readers[reader].measure(given_, [this](int64_t k) { return tokens_[k - base_].time; });
    readers[reader].trim(depth);
    const int64_t keep = slowest();
    if (keep - base_ < 4096 || 2 * (keep - base_) < given_ - base_) return;
    tokens_.erase(tokens_.begin(), tokens_.begin() + (keep - base_));
    base_ = keep;
  }

 private:
  int64_t slowest() const {
    int64_t least = given_;
    for (const Reader& reader : readers) least = std::min(least, reader.taken());
    return least;
  }
  int64_t tokens_held(int64_t from) const { return given_ - from; }

  int64_t given_ = 0;
  int64_t base_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace fuseflow::naive
