// Where a lowered region joins stored levels, so that a schedule could say how: `join j = ..`.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// A join of one loop: what is intersected there, or looked up beside what leads it.
struct JoinPlace {
  std::string index;              ///< the region index of the loop
  std::vector<TensorId> tensors;  ///< whose levels could be located instead of scanned
  bool led = false;               ///< something else is in it, so that all of them could be
  int words = 0;                  ///< of these, levels that could be compared by words
  int gallops = 0;                ///< pairs of these that could gallop
  bool operator==(const JoinPlace&) const = default;
};

/// Whether a line of a schedule does anything: a tensor that it locates is joined there, or there
/// are bit vectors to compare.
bool has_effect(const Join& join, const std::vector<JoinPlace>& places);

}  // namespace fuseflow
