// Inner loops over payloads, with AVX2 versions chosen at run time. Results do not depend on the version.
#pragma once

#include <cstdint>

namespace fuseflow::engine::kernels {

/// out[k] = values[refs[k]], or `fill` where refs[k] >= size.
void gather(const uint32_t* refs, const float* values, uint32_t size, float fill, float* out,
            uint32_t n);

struct References {
  int64_t absent = 0;   ///< how many are kAbsent
  uint64_t beyond = 0;  ///< one more than the largest of the others
};
References references(const uint32_t* refs, uint32_t n);

/// out[k] = refs[k] * extent + coordinates[k], or kAbsent where the reference is or the coordinate is
/// not below the extent. Gives the largest position (out is wrong if that needs more than 32 bits).
uint64_t locate_dense(const uint32_t* refs, const uint32_t* coordinates, uint32_t extent,
                      uint32_t* out, uint32_t n);

}  // namespace fuseflow::engine::kernels
