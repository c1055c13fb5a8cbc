// Room for what writers store, whose size can be estimated before it is complete: moving it to
// twice the room again and again would copy it once more and touch twice the memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace fuseflow::engine {

/// Expects how large the array of a level's coordinates or of the values becomes: from the number
/// of positions where all levels are dense, else from the mean of the fibers so far and the number
/// of all fibers, where that is known.
class SizePredictor {
 public:
  /// Predicts the number of coordinates of level `level`, or of values (`level` = levels().size()).
  SizePredictor(const Tensor& tensor, size_t level);

  void add_fibers(size_t count) { fibers_ += static_cast<int64_t>(count); }

  /// Makes room up to `end`, and for what is expected after it; that is not touched before it is
  /// needed.
  template <typename T>
  void make_room(std::vector<T>& array, size_t end) const {
    constexpr size_t kMargin = 16;  // one in so many: fibers still to come may be longer
    constexpr size_t kMost = 64;    // times `end`: the first fibers may be the longest
    const auto parts = by_fiber_ ? fibers_ : static_cast<int64_t>(end / volume_);
    if (end <= array.capacity() || parts <= 0 || parts >= parts_) return;
    const double expected =
        static_cast<double>(end) * static_cast<double>(parts_) / static_cast<double>(parts);
    const auto room = static_cast<size_t>(std::min(expected, static_cast<double>(end * kMost)));
    array.reserve(room + room / kMargin);
  }

 private:
  size_t volume_;  // of the blocks
  bool by_fiber_;
  int64_t parts_ = 1;   // fibers or positions in all; 0: not known
  int64_t fibers_ = 0;  // that have ended
};

}  // namespace fuseflow::engine
