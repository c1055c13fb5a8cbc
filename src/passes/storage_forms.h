// How tensors can be stored, and where regions read them.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// An access of a statement to an input or constant, or to a copy of it.
struct StoredUse {
  size_t region = 0;
  size_t statement = 0;
  size_t node = 0;  ///< of the statement's expression
  bool operator==(const StoredUse&) const = default;
};

/// The accesses of regions without a graph to a tensor and its copies, in program order.
std::vector<StoredUse> uses_of(const Program& program, TensorId original);

/// Inputs and constants with a source that regions without a graph read, copies by their originals;
/// ascending.
std::vector<TensorId> stored_tensors_read(const Program& program);

/// Formats that may pay for a tensor of which `density` of the elements differ from the fill: all
/// dense, and with the innermost level, or all levels, compressed, or the innermost a bit vector,
/// in each mode order; without the tensor's own. What is mostly fill is not stored dense, and what
/// is mostly not is not listed. None for tensors in blocks.
std::vector<Format> storage_forms(const Tensor& tensor, double density);

/// Formats in which a region could write an intermediate, without its own: all levels dense, the
/// innermost or all compressed, in each mode order. None for tensors in blocks.
std::vector<Format> intermediate_forms(const Tensor& tensor);

/// Lets these uses read the tensor as `format`: the original, or a copy (ir/copies.h). Lines of
/// schedules follow where a region reads nothing else of it. The regions' graphs are removed.
void store_as(Program& program, TensorId original, const Format& format,
              const std::vector<StoredUse>& uses);

/// "%x as dense,compressed", and the copy's name where it is one.
std::string stored_text(const Program& program, TensorId tensor);

}  // namespace fuseflow
