// A run of consecutive kernels, by position: what one region is made of. Knows no program.
#pragma once

#include <cstddef>
#include <utility>

namespace fuseflow {

struct Interval {
  size_t first = 0, last = 0;  ///< both included
  size_t size() const { return last - first + 1; }
  bool alone() const { return first == last; }
  bool operator==(const Interval&) const = default;
  bool operator<(const Interval& other) const {
    return std::pair(first, last) < std::pair(other.first, other.last);
  }
};

}  // namespace fuseflow
