#include "sim/functional/payload_loops.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/common/token.h"
#include "support/avx2.h"

namespace fuseflow::engine::loops {

namespace {

constexpr uint32_t kBlock = 64;  // references that are looked at together

// Written once and compiled twice: always inlined into a plain function and one for AVX2.
[[gnu::always_inline]] inline References references_any(const uint32_t* refs, uint32_t n) {
  uint32_t absent = 0;
  uint32_t beyond = 0;
  for (uint32_t k = 0; k < n; ++k) {
    absent += refs[k] == kAbsent ? 1U : 0U;
    beyond = std::max(beyond, refs[k] + 1);  // kAbsent + 1 is 0
  }
  return {absent, beyond};
}

[[gnu::always_inline]] inline bool is_run_any(const uint32_t* words, uint32_t n) {
  if (n == 0) return true;
  const uint32_t first = words[0];
  uint32_t different = 0;
  for (uint32_t k = 0; k < n; ++k) different |= words[k] ^ (first + k);
  return different == 0;
}

struct PlainGather {
  References operator()(const uint32_t* refs, const float* values, uint32_t size, float fill,
                        float* out, uint32_t n) const {
    static constexpr float kNothing = 0;
    const float* safe = size == 0 ? &kNothing : values;
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t ref = refs[k];
      const float value = safe[ref < size ? ref : 0];
      out[k] = ref < size ? value : fill;
    }
    return references_any(refs, n);
  }
};

/// `block` gathers references that are no run.
template <typename Block>
[[gnu::always_inline]] inline References gather_any(const uint32_t* refs, const float* values,
                                                    uint32_t size, float fill, float* out,
                                                    uint32_t n, const Block& block_of) {
  References all;
  uint32_t block = refs[n - 1] - refs[0] == n - 1 ? n : kBlock;
  for (uint32_t k = 0; k < n;) {
    const uint32_t count = std::min(block, n - k);
    // A stop inside is a reference 0, which ends a run: such blocks are gathered.
    if (refs[k + count - 1] - refs[k] == count - 1 && is_run_any(refs + k, count) &&
        uint64_t{refs[k]} + count <= size) {
      std::memcpy(out + k, values + refs[k], count * sizeof(float));
      all.beyond = std::max<uint64_t>(all.beyond, uint64_t{refs[k]} + count);
    } else if (count > kBlock) {
      block = kBlock;
      continue;
    } else {
      const References some = block_of(refs + k, values, size, fill, out + k, count);
      all.absent += some.absent;
      all.beyond = std::max(all.beyond, some.beyond);
    }
    k += count;
  }
  return all;
}

inline void pick_plain(const uint32_t* words, const uint32_t* source, uint32_t absent,
                       uint32_t* out, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) out[k] = source[k] == kAbsent ? absent : words[source[k]];
}

#ifdef FUSEFLOW_AVX2
/// Eight at a time: which references are absent or beyond the values cannot be predicted.
struct Avx2Gather {
  FUSEFLOW_AVX2 References operator()(const uint32_t* refs, const float* values, uint32_t size,
                                      float fill, float* out, uint32_t n) const {
    // The lanes are signed.
    if (size == 0 || size > INT32_MAX) return PlainGather()(refs, values, size, fill, out, n);
    const __m256i ones = _mm256_set1_epi32(1);
    const __m256i last = _mm256_set1_epi32(static_cast<int>(size - 1));
    __m256i absent = _mm256_setzero_si256();
    __m256i beyond = _mm256_setzero_si256();
    uint32_t k = 0;
    for (; k + 8 <= n; k += 8) {
      const __m256i ref = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(refs + k));
      const __m256i next = _mm256_add_epi32(ref, ones);  // of kAbsent: 0
      absent = _mm256_sub_epi32(absent, _mm256_cmpeq_epi32(next, _mm256_setzero_si256()));
      beyond = _mm256_max_epu32(beyond, next);
      const __m256i known = _mm256_cmpeq_epi32(_mm256_min_epu32(ref, last), ref);
      const __m256 value = _mm256_mask_i32gather_ps(_mm256_set1_ps(fill), values, ref,
                                                    _mm256_castsi256_ps(known), sizeof(float));
      _mm256_storeu_ps(out + k, value);
    }
    References all;
    if (k < n) all = PlainGather()(refs + k, values, size, fill, out + k, n - k);
    std::array<uint32_t, 8> lanes;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes.data()), absent);
    for (const uint32_t lane : lanes) all.absent += lane;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes.data()), beyond);
    for (const uint32_t lane : lanes) all.beyond = std::max<uint64_t>(all.beyond, lane);
    return all;
  }
};

FUSEFLOW_AVX2 References gather_avx2(const uint32_t* refs, const float* values, uint32_t size,
                                     float fill, float* out, uint32_t n) {
  return gather_any(refs, values, size, fill, out, n, Avx2Gather());
}
/// Eight at a time: which sources are absent cannot be predicted.
FUSEFLOW_AVX2 void pick_avx2(const uint32_t* words, const uint32_t* source, uint32_t absent,
                             uint32_t* out, uint32_t n) {
  const __m256i nowhere = _mm256_set1_epi32(static_cast<int>(kAbsent));
  const __m256i otherwise = _mm256_set1_epi32(static_cast<int>(absent));
  uint32_t k = 0;
  for (; k + 8 <= n; k += 8) {
    const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + k));
    const __m256i known = _mm256_andnot_si256(_mm256_cmpeq_epi32(from, nowhere), nowhere);
    const __m256i picked = _mm256_mask_i32gather_epi32(
        otherwise, reinterpret_cast<const int*>(words), from, known, sizeof(uint32_t));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + k), picked);
  }
  pick_plain(words, source + k, absent, out + k, n - k);
}
#endif

}  // namespace

References gather(const uint32_t* refs, const float* values, uint32_t size, float fill, float* out,
                  uint32_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return gather_avx2(refs, values, size, fill, out, n);
#endif
  return gather_any(refs, values, size, fill, out, n, PlainGather());
}

void pick(const uint32_t* words, const uint32_t* source, uint32_t absent, uint32_t* out,
          uint32_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return pick_avx2(words, source, absent, out, n);
#endif
  pick_plain(words, source, absent, out, n);
}

References references(const uint32_t* refs, uint32_t n) {
  return run_widest([=]() FUSEFLOW_LOOP { return references_any(refs, n); });
}

uint32_t find_outside(const uint32_t* refs, uint32_t n, uint32_t low, uint32_t count) {
  for (uint32_t k = 0; k < n; ++k) {
    if (refs[k] != kAbsent && refs[k] - low >= count) return k;
  }
  return n;
}

bool is_run(const uint32_t* words, uint32_t n) {
  return run_widest([=]() FUSEFLOW_LOOP { return is_run_any(words, n); });
}

uint32_t largest(const uint32_t* words, uint32_t n) {
  return run_widest([=]() FUSEFLOW_LOOP {
    uint32_t largest = 0;
    for (uint32_t k = 0; k < n; ++k) largest = std::max(largest, words[k]);
    return largest;
  });
}

uint32_t count_same(const float* values, float value, uint32_t n) {
  return run_widest([=]() FUSEFLOW_LOOP {
    uint32_t count = 0;
    if (value != value) {
      for (uint32_t k = 0; k < n; ++k) count += values[k] != values[k] ? 1U : 0U;
    } else {
      for (uint32_t k = 0; k < n; ++k) count += values[k] == value ? 1U : 0U;
    }
    return count;
  });
}

void add_to(float* sums, const float* values, uint32_t n) {
  run_widest([=]() FUSEFLOW_LOOP {
    for (uint32_t k = 0; k < n; ++k) sums[k] += values[k];
  });
}

void sum_fibers(const float* values, uint32_t fibers, uint32_t length, uint32_t distance,
                float* sums) {
  uint32_t f = 0;
  // The additions of a fiber wait for one another; those of eight fibers go on side by side.
  for (; f + 8 <= fibers; f += 8) {
    const float* v = values + size_t{f} * distance;
    std::array<float, 8> sum;
    std::copy_n(sums + f, 8, sum.begin());
    for (uint32_t k = 0; k < length; ++k) {
      for (uint32_t i = 0; i < 8; ++i) sum[i] += v[size_t{i} * distance + k];
    }
    std::copy_n(sum.begin(), 8, sums + f);
  }
  for (; f < fibers; ++f) {
    const float* v = values + size_t{f} * distance;
    float sum = sums[f];
    for (uint32_t k = 0; k < length; ++k) sum += v[k];
    sums[f] = sum;
  }
}

uint64_t locate_dense(const uint32_t* refs, const uint32_t* coordinates, uint32_t extent,
                      uint32_t* out, uint32_t n) {
  return run_widest([=]() FUSEFLOW_LOOP {
    uint64_t largest = 0;
    for (uint32_t k = 0; k < n; ++k) {
      const bool found = refs[k] != kAbsent && coordinates[k] < extent;
      const uint64_t position = uint64_t{refs[k]} * extent + coordinates[k];
      out[k] = found ? static_cast<uint32_t>(position) : kAbsent;
      largest = std::max(largest, found ? position : 0);
    }
    return largest;
  });
}

}  // namespace fuseflow::engine::loops
