// Inner loops over payloads, with AVX2 versions chosen at run time. Results do not depend on the
// version.
#pragma once

#include <cstdint>

namespace fuseflow::engine::loops {

struct References {
  int64_t absent = 0;   ///< how many are kAbsent
  uint64_t beyond = 0;  ///< one more than the largest of the others
};
References references(const uint32_t* refs, uint32_t n);

/// out[k] = values[refs[k]], or `fill` where refs[k] >= size. References that follow one another
/// are copied at once.
References gather(const uint32_t* refs, const float* values, uint32_t size, float fill, float* out,
                  uint32_t n);

/// out[k] = words[source[k]], or `absent` where source[k] is kAbsent.
void pick(const uint32_t* words, const uint32_t* source, uint32_t absent, uint32_t* out,
          uint32_t n);

/// The first k with a reference that is neither kAbsent nor one of the `count` from `low` on; n if
/// there is none.
uint32_t find_outside(const uint32_t* refs, uint32_t n, uint32_t low, uint32_t count);

/// Whether words[k] = words[0] + k for all k < n.
bool is_run(const uint32_t* words, uint32_t n);
uint32_t largest(const uint32_t* words, uint32_t n);
/// How many of the values are `value`: equal, or both NaN.
uint32_t count_same(const float* values, float value, uint32_t n);

/// sums[k] += values[k].
void add_to(float* sums, const float* values, uint32_t n);

/// Sums `fibers` stretches of `length` values that lie `distance` apart, each strictly in order.
void sum_fibers(const float* values, uint32_t fibers, uint32_t length, uint32_t distance,
                float* sums);

/// out[k] = refs[k] * extent + coordinates[k], or kAbsent where the reference is or the coordinate
/// is not below the extent. Gives the largest position (out is wrong if that needs more than 32
/// bits).
uint64_t locate_dense(const uint32_t* refs, const uint32_t* coordinates, uint32_t extent,
                      uint32_t* out, uint32_t n);

}  // namespace fuseflow::engine::loops
