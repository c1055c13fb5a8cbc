// Which kernels belong to the same layer of the model: by the module paths in ONNX value and weight
// names where they tell, else by contractions with a sparse input.
#pragma once

#include <vector>

#include "ir/program.h"
#include "passes/regroup.h"

namespace fuseflow {

/// Groups of consecutive regions, one a layer.
std::vector<Group> layer_groups(const Program& program);

}  // namespace fuseflow
