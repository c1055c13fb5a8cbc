// The end of countable time: how long a run may take, and sums and products that stop there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fuseflow {

/// A run that is not over by then is ended, as by --max-cycles, whatever its unit of time. Four
/// times as much can be counted: a time up to here and a few constants more never wrap.
inline constexpr int64_t kLatest = int64_t{1} << 61;

/// No single constant (a latency, an interval) counts as more than this.
inline constexpr int64_t kLongest = kLatest / 2;

/// What computes times throws when they are later than kLatest.
struct TimeOverflow {};

/// Where sums end that are asked for beyond kLatest: what is there never comes.
inline constexpr int64_t kBeyondLatest = 2 * kLatest;

/// a + b of numbers from 0 to kBeyondLatest, of which one is at most kLatest, capped at
/// kBeyondLatest.
constexpr int64_t capped_sum(int64_t a, int64_t b) {
  return std::min(a + b, kBeyondLatest);
}

/// The nearest whole number, capped at kLatest.
inline int64_t capped_round(double amount) {
  return amount < static_cast<double>(kLatest) ? std::llround(amount) : kLatest;
}

/// a * b of numbers that are not negative, at most kLongest.
constexpr int64_t capped_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kLongest ? kLongest : product;
}

}  // namespace fuseflow
