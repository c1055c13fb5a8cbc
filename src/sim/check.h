// Compares what regions wrote with what it should be: the reference evaluation of the unfused
// statements, or given arrays. Reports, never throws, on a difference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "reference/reference.h"
#include "sim/run.h"

namespace fuseflow {

struct CheckedTensor {
  TensorId tensor = -1;
  Comparison comparison;
  bool passes = false;
  std::string against;  ///< "the reference", or the file's name
};

/// Compares every written tensor with the reference evaluation. Also asserts the facts that the
/// program assumes of its inputs: Error(unfinished) if the data contradict them.
std::vector<CheckedTensor> check_reference(const Program& program, const TensorData& data,
                                           const std::vector<TensorId>& written, double tolerance,
                                           int threads);

/// Compares one result with the array in a file (any tensor file that can be read). Throws
/// Error(rejected) when its shape is another.
CheckedTensor check_file(const Program& program, const TensorData& data, TensorId tensor,
                         const std::string& path, double tolerance);

/// "%y differs from the reference: ... at [3, 4]: expected 1.5, got 2": one line.
std::string describe_failure(const Program& program, const CheckedTensor& checked);

}  // namespace fuseflow
