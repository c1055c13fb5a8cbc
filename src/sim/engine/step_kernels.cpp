#include "sim/engine/step_kernels.h"

#include <algorithm>
#include <array>

#include "support/avx2.h"

namespace fuseflow::engine::kernels {

namespace {

// Written once and compiled twice: always inlined into a plain function and one for AVX2.
[[gnu::always_inline]] inline void raise_any(int64_t* to, const int64_t* from, int64_t plus,
                                             int64_t n) {
  for (int64_t k = 0; k < n; ++k) to[k] = std::max(to[k], from[k] + plus);
}

[[gnu::always_inline]] inline void raise_line_any(int64_t* to, int64_t start, int64_t step,
                                                  int64_t n) {
  for (int64_t k = 0; k < n; ++k, start += step) to[k] = std::max(to[k], start);
}

/// Where nobody waits for a stretch, or only its first step does, its times are a line.
[[gnu::always_inline]] inline void solve_any(const int64_t* bounds, int64_t n, int64_t free_at,
                                             int64_t cost, int64_t* times) {
  constexpr int64_t kStretch = 16;
  int64_t k = 0;
  for (; k + kStretch <= n; k += kStretch) {
    free_at = std::max(free_at, bounds[k]);
    int64_t slack = 0;  // negative if there is less than none
    for (int64_t i = 0; i < kStretch; ++i) {
      times[k + i] = free_at + i * cost;
      slack |= times[k + i] - bounds[k + i];
    }
    for (int64_t i = 0; slack < 0 && i < kStretch; ++i) {
      times[k + i] = std::max(free_at, bounds[k + i]);
      free_at = times[k + i] + cost;
    }
    free_at = times[k + kStretch - 1] + cost;
  }
  for (; k < n; ++k) {
    times[k] = std::max(free_at, bounds[k]);
    free_at = times[k] + cost;
  }
}

[[gnu::always_inline]] inline bool all_before_any(const int64_t* a, const int64_t* b, int64_t n) {
  int64_t differences = -1;  // negative as long as all are
  for (int64_t k = 0; k < n; ++k) differences &= a[k] - b[k];
  return differences < 0;
}

/// The same as places_of, for the k from `first` on, behind `count` places.
int64_t more_places(const TypeSet& set, const uint8_t* types, int64_t first, int64_t n,
                    uint16_t* places, int64_t count) {
  for (int64_t k = first; k < n; ++k) {
    places[count] = static_cast<uint16_t>(k);
    count += set[types[k]];
  }
  return count;
}

/// The same as find_place, for the k from `first` on.
int64_t find_place_from(const TypeSet& set, const uint8_t* types, int64_t first, int64_t n,
                        int64_t& count) {
  for (int64_t k = first; k < n; ++k) {
    if (set[types[k]] == 0) continue;
    if (count == 1) return k;
    --count;
  }
  return n;
}

#ifdef FUSEFLOW_AVX2
FUSEFLOW_AVX2 void raise_avx2(int64_t* to, const int64_t* from, int64_t plus, int64_t n) {
  raise_any(to, from, plus, n);
}

FUSEFLOW_AVX2 void raise_line_avx2(int64_t* to, int64_t start, int64_t step, int64_t n) {
  raise_line_any(to, start, step, n);
}

FUSEFLOW_AVX2 void solve_avx2(const int64_t* bounds, int64_t n, int64_t free_at, int64_t cost,
                              int64_t* times) {
  solve_any(bounds, n, free_at, cost, times);
}
FUSEFLOW_AVX2 bool all_before_avx2(const int64_t* a, const int64_t* b, int64_t n) {
  return all_before_any(a, b, n);
}

/// The places of the bits that are set in each byte, a byte each.
constexpr std::array<uint64_t, 256> kBits = [] {
  std::array<uint64_t, 256> bits{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    int count = 0;
    for (uint64_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1U) != 0) bits[byte] |= bit << (8 * count++);
    }
  }
  return bits;
}();

/// 32 types at a time are looked up in the set, which has 16.
FUSEFLOW_AVX2 int64_t places_avx2(const TypeSet& set, const uint8_t* types, int64_t n,
                                  uint16_t* places) {
  constexpr int64_t kTogether = 32;
  constexpr int kFewBits = 4;  // are looked for one by one
  const __m256i in =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data())));
  int64_t count = 0;
  int64_t k = 0;
  for (; k + kTogether <= n; k += kTogether) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(types + k));
    const __m256i found = _mm256_cmpgt_epi8(_mm256_shuffle_epi8(in, some), _mm256_setzero_si256());
    auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(found));
    if (__builtin_popcount(bits) <= kFewBits) {
      for (; bits != 0; bits &= bits - 1) {
        places[count++] = static_cast<uint16_t>(k + __builtin_ctz(bits));
      }
      continue;
    }
    for (int64_t first = k; bits != 0; bits >>= 8, first += 8) {
      const __m128i of_byte = _mm_cvtsi64_si128(static_cast<int64_t>(kBits[bits & 0xFFU]));
      const __m128i at =
          _mm_add_epi16(_mm_cvtepu8_epi16(of_byte), _mm_set1_epi16(static_cast<int16_t>(first)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(places + count), at);
      count += __builtin_popcount(bits & 0xFFU);
    }
  }
  return more_places(set, types, k, n, places, count);
}

/// Passes over 32 types at a time, as long as the place is not among them.
FUSEFLOW_AVX2 int64_t find_place_avx2(const TypeSet& set, const uint8_t* types, int64_t n,
                                      int64_t& count) {
  constexpr int64_t kTogether = 32;
  const __m256i in =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data())));
  int64_t k = 0;
  for (; k + kTogether <= n; k += kTogether) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(types + k));
    const __m256i found = _mm256_cmpgt_epi8(_mm256_shuffle_epi8(in, some), _mm256_setzero_si256());
    const int members = __builtin_popcount(static_cast<uint32_t>(_mm256_movemask_epi8(found)));
    if (members >= count) break;
    count -= members;
  }
  return find_place_from(set, types, k, n, count);
}

#endif

}  // namespace

int64_t places_of(const TypeSet& set, const uint8_t* types, int64_t n, uint16_t* places) {
#ifdef FUSEFLOW_AVX2
  if (set.few() && have_avx2()) return places_avx2(set, types, n, places);
#endif
  return more_places(set, types, 0, n, places, 0);
}

int64_t find_place(const TypeSet& set, const uint8_t* types, int64_t n, int64_t& count) {
#ifdef FUSEFLOW_AVX2
  if (set.few() && have_avx2()) return find_place_avx2(set, types, n, count);
#endif
  return find_place_from(set, types, 0, n, count);
}

void raise(int64_t* to, const int64_t* from, int64_t plus, int64_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return raise_avx2(to, from, plus, n);
#endif
  raise_any(to, from, plus, n);
}

void raise_line(int64_t* to, int64_t start, int64_t step, int64_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return raise_line_avx2(to, start, step, n);
#endif
  raise_line_any(to, start, step, n);
}

// Bound by memory: nothing to gain from wider registers.
void set(int64_t* to, const int64_t* from, int64_t plus, int64_t n) {
  for (int64_t k = 0; k < n; ++k) to[k] = from[k] + plus;
}

void set_line(int64_t* to, int64_t start, int64_t step, int64_t n) {
  for (int64_t k = 0; k < n; ++k, start += step) to[k] = start;
}

void solve(const int64_t* bounds, int64_t n, int64_t free_at, int64_t cost, int64_t* times) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return solve_avx2(bounds, n, free_at, cost, times);
#endif
  solve_any(bounds, n, free_at, cost, times);
}

bool all_before(const int64_t* a, const int64_t* b, int64_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return all_before_avx2(a, b, n);
#endif
  return all_before_any(a, b, n);
}

}  // namespace fuseflow::engine::kernels
