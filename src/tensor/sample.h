// Random subsets of a range of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tensor/random.h"

namespace fuseflow {

/// Exactly `wanted` of the numbers [0, range), every subset equally likely; given to `take` in
/// pieces, ascending.
void sample(Random& random, uint64_t range, uint64_t wanted,
            const std::function<void(std::span<const uint64_t>)>& take);

namespace sampling {

/// Passing over [0, range), element i is taken if random.below(range - i) is less than the number
/// of elements still wanted. So many elements were passed over and so many of them taken:
struct SampleProgress {
  uint64_t elements = 0;
  uint64_t taken = 0;
};

/// Most that `taken` of pass() must have room for beyond the elements that are taken.
inline constexpr size_t kRoom = 4;

/// Passes over elements from `first` on, of which `left` more are wanted, one for each of `random`;
/// those taken are appended to `taken`. It stops, perhaps at once, where it is not plain from the
/// numbers alone which are taken: near the end, or where below() may need another number.
SampleProgress pass(std::span<const uint64_t> random, uint64_t range, uint64_t first, uint64_t left,
                    uint64_t* taken);

}  // namespace sampling
}  // namespace fuseflow
