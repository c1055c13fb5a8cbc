#include "sim/timing/packed_times.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {

// A stretch is: how many tokens, a bit for runs; the first time (from the one before); then the
// step of a run, or the distances of the others.
constexpr size_t kMostBytes = 10;  // of a number

inline uint8_t* put(uint8_t* at, uint64_t number) {
  while (number >= 0x80) {
    *at++ = static_cast<uint8_t>(number | 0x80);
    number >>= 7;
  }
  *at++ = static_cast<uint8_t>(number);
  return at;
}

uint64_t get(const uint8_t*& at) {
  uint64_t number = 0;
  int shift = 0;
  while ((*at & 0x80) != 0) {
    number |= uint64_t{*at++ & 0x7FU} << shift;
    shift += 7;
  }
  return number | (uint64_t{*at++} << shift);
}

}  // namespace

PackedTimes::PackedTimes(const TimeRef& ref, uint32_t n) : count_(n), gap_(ref.times->gap) {
  std::vector<uint8_t, UninitializedPoolAllocator<uint8_t>> room(kMostBytes * (size_t{3} * n + 1));
  uint8_t* at = room.data();
  TimeCursor cursor(ref);
  int64_t before = 0;
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    const bool run = cursor.step() != kExplicit;
    at = put(at, uint64_t{count} * 2 + (run ? 1 : 0));
    at = put(at, static_cast<uint64_t>(start - before));
    before = start;
    if (run) {
      at = put(at, static_cast<uint64_t>(cursor.step()));
      before = cursor.at(k + count - 1);
    } else {
      const int64_t* values = cursor.values(k);
      for (uint32_t i = 1; i < count; ++i) {
        const auto distance = static_cast<uint64_t>(values[i] - values[i - 1]);
        if (distance < 0x80) {
          *at++ = static_cast<uint8_t>(distance);
        } else {
          at = put(at, distance);
        }
      }
      before = cursor.at(k + count - 1);
    }
    k += count;
  }
  bytes_.assign(room.data(), at);
}

TimeRef PackedTimes::unpack() const {
  TimesBuilder times(gap_);
  const uint8_t* at = bytes_.data();
  int64_t time = 0;
  for (uint32_t k = 0; k < count_;) {
    const uint64_t head = get(at);
    const auto count = static_cast<uint32_t>(head / 2);
    time += static_cast<int64_t>(get(at));
    if (head % 2 != 0) {
      const auto step = static_cast<int64_t>(get(at));
      times.append(count, time, step);
      time += step * static_cast<int64_t>(count - 1);
    } else {
      int64_t* out = times.reserve(count);
      out[0] = time;
      for (uint32_t i = 1; i < count; ++i) out[i] = time += static_cast<int64_t>(get(at));
      times.commit(count);
    }
    k += count;
  }
  return {times.finish(), 0, 0};
}

}  // namespace fuseflow::engine
