// The latest times of a stream's tokens, by token number, in a ring that grows. Nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/step_kernels.h"

namespace fuseflow::engine {

class TimeRing {
 public:
  static constexpr size_t kLeast = 64;

  int64_t& operator[](int64_t k) { return times_[static_cast<size_t>(k) & mask_]; }
  int64_t operator[](int64_t k) const { return times_[static_cast<size_t>(k) & mask_]; }
  int64_t* data() { return times_.data(); }
  const int64_t* data() const { return times_.data(); }
  size_t mask() const { return mask_; }
  int64_t size() const { return static_cast<int64_t>(times_.size()); }

  /// Whether `count` times from that of token k on are each before those of `other` from token j
  /// on.
  bool before(int64_t k, const TimeRing& other, int64_t j, int64_t count) const {
    if (in_one_piece(k, count) && other.in_one_piece(j, count)) {
      return kernels::all_before(&times_[static_cast<size_t>(k) & mask_],
                                 &other.times_[static_cast<size_t>(j) & other.mask_], count);
    }
    for (int64_t i = 0; i < count; ++i) {
      if ((*this)[k + i] >= other[j + i]) return false;
    }
    return true;
  }

  /// Doubles until `size` times fit, keeping those of tokens first .. end-1.
  void grow(int64_t size, int64_t first, int64_t end) {
    size_t bigger = times_.size();
    while (static_cast<int64_t>(bigger) < size) bigger *= 2;
    std::vector<int64_t> grown(bigger);
    for (int64_t k = first; k < end; ++k) grown[static_cast<size_t>(k) & (bigger - 1)] = (*this)[k];
    times_ = std::move(grown);
    mask_ = bigger - 1;
  }

 private:
  bool in_one_piece(int64_t k, int64_t count) const {
    return static_cast<int64_t>(static_cast<size_t>(k) & mask_) + count <= size();
  }

  std::vector<int64_t> times_ = std::vector<int64_t>(kLeast);
  size_t mask_ = kLeast - 1;
};

}  // namespace fuseflow::engine
