// Tests of random or many cases take some of them in the suite and all of them in scripts/property,
// which sets FUSEFLOW_THOROUGH.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace fuseflow {

/// `all` where every case is asked for, else `some`.
inline size_t thorough_or(size_t all, size_t some) {
  return std::getenv("FUSEFLOW_THOROUGH") != nullptr ? all : some;
}

}  // namespace fuseflow
