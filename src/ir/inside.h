// Whether a subscript can leave its dimension: what lies outside reads the tensor's fill.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/program.h"

namespace fuseflow {

/// Whether a subscript is in [0, extent) whatever its indices are; `extent_of` says how many values
/// an index has. All extents are known.
template <typename ExtentOf>
bool stays_inside(const Subscript& subscript, int64_t extent, ExtentOf&& extent_of) {
  int64_t low = subscript.offset;
  int64_t high = low;
  for (const auto& [index, factor] : subscript.terms) {
    const int64_t reach = factor * (extent_of(index) - 1);
    low += std::min<int64_t>(reach, 0);
    high += std::max<int64_t>(reach, 0);
  }
  return low >= 0 && high < extent;
}

/// Whether the subscript of a dimension is an index alone that does not leave it. Extents that are
/// not known yet are equal, unless the index states its own.
inline bool is_plain_inside(const Statement& statement, const Subscript& subscript,
                            const Extent& dimension) {
  if (!subscript.is_plain()) return false;
  const Index& index = statement.indices[static_cast<size_t>(subscript.plain())];
  if (!index.stated) return true;
  return index.extent >= 0 && dimension.known() && index.extent <= dimension.value;
}

}  // namespace fuseflow
