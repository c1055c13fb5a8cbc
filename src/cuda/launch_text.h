// What is needed to launch a kernel, as C++ text: its tensors, what the copy engine copies from,
// clusters, sums in memory. Constants, or, where the rows are known at the launch, a function of
// these.
#pragma once

#include <map>
#include <string>

#include "cuda/kernel.h"
#include "cuda/text.h"
#include "ir/program.h"

namespace fuseflow::cuda {

struct LaunchText {
  std::string text;
  std::map<std::string, int> view_of;  ///< the number of the first view of a load, by its name
};
/// Throws Refused for more tensors to copy than a launch has.
LaunchText launch_text(const Program& program, const Kernel& kernel, const TensorNumbers& numbers);

/// A line of an array of ff::Tensor. `table`: null where the program is none of a table.
std::string tensor_text(const Program& program, TensorId id, bool result, const TableRows* table);

/// The elements of a kernel's dimension, with `rows` for those of the launch.
std::string dim_text(const Kernel& kernel, int dim, const std::string& rows);

}  // namespace fuseflow::cuda
