// AVX2 versions of inner loops, chosen at run time. Results never depend on the version.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
/// Marks what is compiled for AVX2. Defined only where the compiler can do that.
#define FUSEFLOW_AVX2 __attribute__((target("avx2")))
#endif

namespace fuseflow {

#ifdef FUSEFLOW_AVX2
/// Whether this machine has AVX2.
inline bool have_avx2() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}

template <typename Loop>
FUSEFLOW_AVX2 auto run_for_avx2(Loop loop) {
  return loop();
}
#endif

/// After the parameters of a loop that run_widest() is given: `[=]() FUSEFLOW_LOOP { .. }`.
#define FUSEFLOW_LOOP __attribute__((always_inline))

/// Runs a loop that is compiled twice, plainly and for AVX2: the version that suits the machine.
/// What it calls must be inlined, too.
template <typename Loop>
auto run_widest(Loop loop) {
#ifdef FUSEFLOW_AVX2
  if (have_avx2()) return run_for_avx2(loop);
#endif
  return loop();
}

}  // namespace fuseflow
