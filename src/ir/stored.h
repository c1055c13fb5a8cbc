// Which computed tensors are stored, and who reads them from there: only these are rounded to their
// types, what flows as a stream is not (ir-spec/language.md, "Element types").
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// How a tensor that a region computes is stored.
struct Stored {
  int region = -1;         ///< that defines it; -1: none
  bool written = false;    ///< the region stores it
  bool read_back = false;  ///< a later phase of the same region reads it from there
};

/// By TensorId. A region with a graph stores what its graph writes; of one without, it is what
/// others read, or a result.
std::vector<Stored> stored_tensors(const Program& program);

}  // namespace fuseflow
