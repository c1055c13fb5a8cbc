#include "tensor/sample.h"

#include <algorithm>
#include <array>
#include <vector>

#include "support/avx2.h"
#include "support/sort_numbers.h"
#include "support/stop.h"
#include "tensor/random_blocks.h"

namespace fuseflow {

namespace sampling {

namespace {

constexpr uint64_t kGroup = 32;  // elements that are decided together

#ifdef FUSEFLOW_AVX2
constexpr uint64_t kVector = 4;

/// For each set of four lanes of 64 bits: which lanes of 32 bits to take to move them to the front.
constexpr auto kToFront = [] {
  std::array<std::array<uint32_t, 8>, 16> orders{};
  for (uint32_t set = 0; set < 16; ++set) {
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < 4; ++lane) {
      if ((set >> lane & 1) == 0) continue;
      orders[set][count++] = 2 * lane;
      orders[set][count++] = 2 * lane + 1;
    }
  }
  return orders;
}();

/// Elements are taken if their number is below `left` less what is taken before them in the group:
/// plain if it is below left - (kGroup - 1) or not below left.
FUSEFLOW_AVX2 SampleProgress pass_avx2(std::span<const uint64_t> random, uint64_t range,
                                       uint64_t first, uint64_t left, uint64_t* taken) {
  SampleProgress passed;
  const __m256i steps = _mm256_setr_epi64x(0, 1, 2, 3);
  const __m256i four = _mm256_set1_epi64x(kVector);
  __m256i element = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(first)), steps);
  const __m256i end = _mm256_set1_epi64x(static_cast<int64_t>(range));
  while (left > kGroup && passed.elements + kGroup <= random.size()) {
    const __m256i some = _mm256_set1_epi64x(static_cast<int64_t>(left << 32));
    const __m256i sure = _mm256_set1_epi64x(static_cast<int64_t>((left - (kGroup - 1)) << 32));
    const uint64_t* numbers = random.data() + passed.elements;
    __m256i doubt = _mm256_setzero_si256();
    uint64_t count = 0;
    for (uint64_t k = 0; k < kGroup; k += kVector) {
      // number * bound without the lowest 32 bits; below() is what is above 32 more. It is not
      // negative, as bounds have 31 bits.
      const __m256i bound = _mm256_sub_epi64(end, element);
      const __m256i number = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers + k));
      const __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(number, bound), 32);
      const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(number, 32), bound);
      const __m256i product = _mm256_add_epi64(low, high);
      const __m256i is_taken = _mm256_cmpgt_epi64(some, product);
      doubt = _mm256_or_si256(doubt, _mm256_xor_si256(is_taken, _mm256_cmpgt_epi64(sure, product)));
      // below() compares the lower 64 bits with the bound: they are not less if the upper half of
      // them is not 0.
      doubt = _mm256_or_si256(doubt, _mm256_cmpeq_epi32(product, _mm256_setzero_si256()));
      const auto set = static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_taken)));
      const __m256i order = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&kToFront[set]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(taken + passed.taken + count),
                          _mm256_permutevar8x32_epi32(element, order));
      count += static_cast<uint64_t>(__builtin_popcount(set));
      element = _mm256_add_epi64(element, four);
    }
    if (_mm256_testz_si256(doubt, doubt) == 0) break;
    passed.elements += kGroup;
    passed.taken += count;
    left -= count;
  }
  return passed;
}
#endif

}  // namespace

SampleProgress pass(std::span<const uint64_t> random, uint64_t range, uint64_t first, uint64_t left,
                    uint64_t* taken) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2() && range - first <= INT32_MAX) {
    return pass_avx2(random, range, first, left, taken);
  }
#endif
  return {};
}

}  // namespace sampling

namespace {

/// Above one in this many, sampling passes over all elements; below it draws and sorts.
constexpr uint64_t kScanRatio = 16;

using Take = std::function<void(std::span<const uint64_t>)>;

void scan(Random& random, uint64_t range, uint64_t wanted, const Take& take) {
  RandomBlocks numbers(random);
  std::vector<uint64_t> taken;
  uint64_t left = wanted;
  for (uint64_t i = 0; left > 0;) {
    stop_if_asked();
    const std::span<const uint64_t> ahead = numbers.ahead();
    const size_t most = ahead.size() + sampling::kGroup + sampling::kRoom;
    if (taken.size() < most) taken.resize(most);
    const sampling::SampleProgress passed = sampling::pass(ahead, range, i, left, taken.data());
    numbers.take(passed.elements);
    i += passed.elements;
    left -= passed.taken;
    uint64_t count = passed.taken;
    // Which are taken cannot be predicted: each is stored, and overwritten if it was not taken.
    for (const uint64_t end = i + sampling::kGroup; i < end && left > 0; ++i) {
      taken[count] = i;
      const uint64_t is_taken = numbers.below(range - i) < left ? 1 : 0;
      count += is_taken;
      left -= is_taken;
    }
    take({taken.data(), count});
  }
  random = numbers.random();
}

}  // namespace

void sample(Random& random, uint64_t range, uint64_t wanted, const Take& take) {
  if (wanted > range / kScanRatio) return scan(random, range, wanted, take);
  std::vector<uint64_t> picked;
  picked.reserve(wanted);
  PeriodicStopCheck stop;
  while (picked.size() < wanted) {
    const size_t missing = wanted - picked.size();
    for (size_t k = 0; k < missing; ++k) {
      stop.step();
      picked.push_back(random.below(range));
    }
    sort_numbers(picked);
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  }
  take(picked);
}

}  // namespace fuseflow
