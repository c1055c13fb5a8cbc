#include "tensor/random_blocks.h"

#include <algorithm>

#include "support/avx2.h"

namespace fuseflow {

namespace {

constexpr size_t kFew = 256;       // made one by one first: often that is all
constexpr size_t kStretch = 2048;  // of each lane in a block

/// A step of the generator is linear over the bits of its state, so n steps are the polynomial
/// x^n modulo the step's characteristic polynomial (of degree 256) applied to it. Bit i of word w
/// is the coefficient of x^(64 w + i).
using Polynomial = std::array<uint64_t, 4>;
constexpr Polynomial kOneStretch = {UINT64_C(0x876c2301125a85c0), UINT64_C(0x15fe822628b16f04),
                                    UINT64_C(0x3c8ca36ec9a74fa7), UINT64_C(0x51edef31819e01ff)};
constexpr Polynomial kThreeStretches = {UINT64_C(0xa82bd707a5c0bbcd), UINT64_C(0x557d6bd4a66701d2),
                                        UINT64_C(0x27e81077d42d6234), UINT64_C(0x70b2bd03010451a7)};

#ifdef FUSEFLOW_AVX2
template <int kBits>
FUSEFLOW_AVX2 inline __m256i rotated(__m256i x) {
  return _mm256_or_si256(_mm256_slli_epi64(x, kBits), _mm256_srli_epi64(x, 64 - kBits));
}

/// Random::next() of four states, word w of which are state[w].
FUSEFLOW_AVX2 inline __m256i next_of_four(__m256i state[4]) {
  const __m256i five = _mm256_add_epi64(state[1], _mm256_slli_epi64(state[1], 2));
  const __m256i turned = rotated<7>(five);
  const __m256i shifted = _mm256_slli_epi64(state[1], 17);
  state[2] = _mm256_xor_si256(state[2], state[0]);
  state[3] = _mm256_xor_si256(state[3], state[1]);
  state[1] = _mm256_xor_si256(state[1], state[2]);
  state[0] = _mm256_xor_si256(state[0], state[3]);
  state[2] = _mm256_xor_si256(state[2], shifted);
  state[3] = rotated<45>(state[3]);
  return _mm256_add_epi64(turned, _mm256_slli_epi64(turned, 3));
}

FUSEFLOW_AVX2 inline void jump_four(__m256i state[4], const Polynomial& distance) {
  __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                    _mm256_setzero_si256()};
  for (const uint64_t coefficients : distance) {
    for (int bit = 0; bit < 64; ++bit) {
      const auto mask = -static_cast<int64_t>(coefficients >> bit & 1);
      for (int w = 0; w < 4; ++w) {
        sum[w] = _mm256_xor_si256(sum[w], _mm256_and_si256(state[w], _mm256_set1_epi64x(mask)));
      }
      next_of_four(state);
    }
  }
  for (int w = 0; w < 4; ++w) state[w] = sum[w];
}

inline __m256i* vector_at(uint64_t* words) {
  return reinterpret_cast<__m256i*>(words);
}

/// Four numbers of each of four lanes, given as they are made, in the order of the lanes.
FUSEFLOW_AVX2 inline void store_turned(const __m256i made[4], uint64_t* out) {
  const __m256i low01 = _mm256_unpacklo_epi64(made[0], made[1]);
  const __m256i high01 = _mm256_unpackhi_epi64(made[0], made[1]);
  const __m256i low23 = _mm256_unpacklo_epi64(made[2], made[3]);
  const __m256i high23 = _mm256_unpackhi_epi64(made[2], made[3]);
  _mm256_storeu_si256(vector_at(out), _mm256_permute2x128_si256(low01, low23, 0x20));
  _mm256_storeu_si256(vector_at(out + kStretch), _mm256_permute2x128_si256(high01, high23, 0x20));
  _mm256_storeu_si256(vector_at(out + 2 * kStretch), _mm256_permute2x128_si256(low01, low23, 0x31));
  _mm256_storeu_si256(vector_at(out + 3 * kStretch),
                      _mm256_permute2x128_si256(high01, high23, 0x31));
}

/// `words` are those of the lanes' states, word by word. Moves each lane four stretches on.
FUSEFLOW_AVX2 void make_block_avx2(uint64_t (&words)[4][4], uint64_t* out) {
  __m256i state[4];
  for (int w = 0; w < 4; ++w) state[w] = _mm256_loadu_si256(vector_at(words[w]));
  for (size_t k = 0; k < kStretch; k += 4) {
    __m256i made[4];
    for (__m256i& numbers : made) numbers = next_of_four(state);
    store_turned(made, out + k);
  }
  jump_four(state, kThreeStretches);
  for (int w = 0; w < 4; ++w) _mm256_storeu_si256(vector_at(words[w]), state[w]);
}
#endif

}  // namespace

RandomBlocks::RandomBlocks(const Random& random)
    : starts_{random, random, random, random}, lanes_(starts_) {
  numbers_.resize(kFew);
}

void RandomBlocks::refill() {
  at_ = 0;
  if (size_ == 0) return make_few();
  numbers_.resize(kLanes * kStretch);
  size_ = numbers_.size();
  stretch_ = kStretch;
  make_block();
}

void RandomBlocks::make_few() {
  starts_[0] = lanes_[0];
  for (uint64_t& number : numbers_) number = lanes_[0].next();
  size_ = stretch_ = kFew;
}

void RandomBlocks::make_block() {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) {
    if (!apart_) jump_apart();
    starts_ = lanes_;
    uint64_t words[4][4];
    for (size_t lane = 0; lane < kLanes; ++lane) {
      for (size_t w = 0; w < 4; ++w) words[w][lane] = lanes_[lane].state_[w];
    }
    make_block_avx2(words, numbers_.data());
    for (size_t lane = 0; lane < kLanes; ++lane) {
      for (size_t w = 0; w < 4; ++w) lanes_[lane].state_[w] = words[w][lane];
    }
    return;
  }
#endif
  for (size_t k = 0; k < size_; ++k) {
    if (k % kStretch == 0) starts_[k / kStretch] = lanes_[0];
    numbers_[k] = lanes_[0].next();
  }
}

/// The lanes after the first start a stretch apart.
void RandomBlocks::jump_apart() {
  for (size_t lane = 1; lane < kLanes; ++lane) {
    Random from = lanes_[lane - 1];
    uint64_t sum[4] = {};
    for (const uint64_t coefficients : kOneStretch) {
      for (int bit = 0; bit < 64; ++bit) {
        const uint64_t mask = -(coefficients >> bit & 1);
        for (size_t w = 0; w < 4; ++w) sum[w] ^= from.state_[w] & mask;
        from.next();
      }
    }
    for (size_t w = 0; w < 4; ++w) lanes_[lane].state_[w] = sum[w];
  }
  apart_ = true;
}

Random RandomBlocks::random() const {
  if (size_ == 0) return lanes_[0];
  const size_t lane = std::min(at_ / stretch_, size_ / stretch_ - 1);
  Random result = starts_[lane];
  for (size_t k = lane * stretch_; k < at_; ++k) result.next();
  return result;
}

}  // namespace fuseflow
