// How many tokens the steps of each type take, give or need at one port, and where in a list of
// steps so many are reached. Of the replay only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engine/step_kernels.h"

namespace fuseflow::engine {

class TypeCounts {
 public:
  /// Of the next type.
  void add(uint32_t count) {
    some_.set(counts_.size(), count > 0);
    counts_.push_back(count);
    most_ = std::max(most_, count);
  }
  /// So many more of the type added last; or so many at least.
  void increase(uint32_t by) { raise(counts_.back() + by); }
  void raise(uint32_t count) {
    counts_.back() = std::max(counts_.back(), count);
    some_.set(counts_.size() - 1, counts_.back() > 0);
    most_ = std::max(most_, counts_.back());
  }
  int64_t of(uint32_t type) const { return counts_[type]; }
  /// The first of n steps up to which there are `count` tokens; n if there are fewer. Takes from
  /// `count` those of the steps before.
  int64_t find(const uint8_t* types, int64_t n, int64_t& count) const {
    if (most_ <= 1) return kernels::find_place(some_, types, n, count);
    for (int64_t k = 0; k < n; ++k) {
      if (counts_[types[k]] >= count) return k;
      count -= counts_[types[k]];
    }
    return n;
  }

 private:
  std::vector<uint32_t> counts_;
  kernels::TypeSet some_;
  uint32_t most_ = 0;
};

}  // namespace fuseflow::engine
