// Rows of a table in chunks whose expansion fits memory.
#pragma once

#include <cstddef>
#include <vector>

#include "estimate/relations.h"

namespace fuseflow::estimate {

inline constexpr size_t kChunk = size_t{1} << 21;  ///< elements expanded at a time

inline std::vector<size_t> counts_of(const std::vector<Range>& fibers) {
  std::vector<size_t> counts;
  counts.reserve(fibers.size());
  for (const Range& fiber : fibers) counts.push_back(fiber.count);
  return counts;
}

/// Chunks of rows whose fibers hold at most kChunk elements, or of one row: visit(first, last).
template <typename Visit>
void for_chunks(const std::vector<size_t>& counts, const Visit& visit) {
  for (size_t first = 0; first < counts.size();) {
    size_t sum = counts[first];
    size_t last = first + 1;
    while (last < counts.size() && sum + counts[last] <= kChunk) sum += counts[last++];
    visit(first, last);
    first = last;
  }
}

}  // namespace fuseflow::estimate
