// AVX2 versions of inner loops, chosen at run time: FUSEFLOW_AVX2 marks them, and is defined only
// where the compiler can make them. Results never depend on the version.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FUSEFLOW_AVX2 __attribute__((target("avx2")))

namespace fuseflow {

/// Whether this machine has AVX2.
inline bool have_avx2() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}

}  // namespace fuseflow
#endif
