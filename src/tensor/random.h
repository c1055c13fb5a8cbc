// The project's own pseudo-random numbers: xoshiro256** seeded by splitmix64, and transforms made
// of IEEE operations only, so that a seed gives the same bytes with every compiler and C library
// (std:: distributions and libm do not).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fuseflow {

/// Uniform in [0, bound), bound > 0, without bias, from the next of `numbers` (Lemire's
/// multiplication with rejection).
template <typename Numbers>
uint64_t random_below(Numbers& numbers, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{numbers.next()} * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = -bound % bound;
    while (static_cast<uint64_t>(product) < threshold) product = Wide{numbers.next()} * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

class Random {
 public:
  /// `stream` separates independent uses of one seed (pattern, values...).
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t mixed = seed ^ (stream * UINT64_C(0xd1342543de82ef95));
    for (uint64_t& word : state_) {
      mixed += UINT64_C(0x9e3779b97f4a7c15);
      uint64_t z = mixed;
      z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
      z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
      word = z ^ z >> 31;
    }
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), bound > 0, without bias.
  uint64_t below(uint64_t bound) { return random_below(*this, bound); }

  /// Uniform in (0, 1): odd multiples of 2^-54.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

  /// Standard normal by Marsaglia's polar method.
  double normal();

 private:
  friend class RandomBlocks;
  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Natural logarithm of a positive finite number, to about 1e-15.
inline double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double z = (m - 1) / (m + 1);  // |z| < 0.172: the atanh series has 12 terms
  const double square = z * z;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * z * sum + exponent * 0.69314718055994531;
}

/// e to the x for |x| < 700, to about 1e-14.
inline double portable_exp(double x) {
  const double count = std::floor(x / 0.69314718055994531 + 0.5);
  const double r = x - count * 0.69314718055994531;  // |r| < 0.35
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(count));
}

inline double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    const double scale = std::sqrt(-2 * portable_log(s) / s);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
  }
}

}  // namespace fuseflow
