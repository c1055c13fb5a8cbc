// Diagonals: accesses that have one index in two dimensions. No block has one, so that all who
// block dimensions ask here.
#pragma once

#include <cstddef>

namespace fuseflow {

/// Whether the index of one dimension is that of another one, too. `subscripts`: over the indices
/// of a statement, or over those of a region.
template <typename Subscripts>
bool along_diagonal(const Subscripts& subscripts, size_t dimension) {
  const auto& own = subscripts[dimension];
  if (!own.is_plain()) return false;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    if (d != dimension && subscripts[d] == own) return true;
  }
  return false;
}

}  // namespace fuseflow
