#include "sim/engine/kernels.h"

#include <algorithm>

#include "sim/run.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define FUSEFLOW_AVX2 __attribute__((target("avx2")))
#endif

namespace fuseflow::engine::kernels {

namespace {

// Written once and compiled twice: always inlined into a plain function and one for AVX2.
[[gnu::always_inline]] inline void gather_any(const uint32_t* refs, const float* values,
                                              uint32_t size, float fill, float* out, uint32_t n) {
  static constexpr float kNothing = 0;
  const float* safe = size == 0 ? &kNothing : values;
  for (uint32_t k = 0; k < n; ++k) {
    const uint32_t ref = refs[k];
    const float value = safe[ref < size ? ref : 0];
    out[k] = ref < size ? value : fill;
  }
}

[[gnu::always_inline]] inline References references_any(const uint32_t* refs, uint32_t n) {
  uint32_t absent = 0;
  uint32_t beyond = 0;
  for (uint32_t k = 0; k < n; ++k) {
    absent += refs[k] == kAbsent ? 1U : 0U;
    beyond = std::max(beyond, refs[k] + 1);  // kAbsent + 1 is 0
  }
  return {absent, beyond};
}

[[gnu::always_inline]] inline uint64_t locate_any(const uint32_t* refs, const uint32_t* coordinates,
                                                  uint32_t extent, uint32_t* out, uint32_t n) {
  uint64_t largest = 0;
  for (uint32_t k = 0; k < n; ++k) {
    const bool found = refs[k] != kAbsent && coordinates[k] < extent;
    const uint64_t position = uint64_t{refs[k]} * extent + coordinates[k];
    out[k] = found ? static_cast<uint32_t>(position) : kAbsent;
    largest = std::max(largest, found ? position : 0);
  }
  return largest;
}

#ifdef FUSEFLOW_AVX2
FUSEFLOW_AVX2 void gather_avx2(const uint32_t* refs, const float* values, uint32_t size, float fill,
                               float* out, uint32_t n) {
  gather_any(refs, values, size, fill, out, n);
}
FUSEFLOW_AVX2 References references_avx2(const uint32_t* refs, uint32_t n) {
  return references_any(refs, n);
}
FUSEFLOW_AVX2 uint64_t locate_avx2(const uint32_t* refs, const uint32_t* coordinates,
                                   uint32_t extent, uint32_t* out, uint32_t n) {
  return locate_any(refs, coordinates, extent, out, n);
}
bool have_avx2() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}
#endif

}  // namespace

void gather(const uint32_t* refs, const float* values, uint32_t size, float fill, float* out,
            uint32_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return gather_avx2(refs, values, size, fill, out, n);
#endif
  gather_any(refs, values, size, fill, out, n);
}

References references(const uint32_t* refs, uint32_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return references_avx2(refs, n);
#endif
  return references_any(refs, n);
}

uint64_t locate_dense(const uint32_t* refs, const uint32_t* coordinates, uint32_t extent,
                      uint32_t* out, uint32_t n) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return locate_avx2(refs, coordinates, extent, out, n);
#endif
  return locate_any(refs, coordinates, extent, out, n);
}

}  // namespace fuseflow::engine::kernels
