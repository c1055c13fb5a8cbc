// Which nodes form one kernel: an operator by itself, or a decomposed layer normalisation, RMS
// normalisation or GELU, recognised by the shape of the chain and not by names.
#pragma once

#include <vector>

#include "import/onnx/model.h"

namespace fuseflow {

/// The group of each node; a group is numbered by its last node.
std::vector<int> find_kernels(const OnnxModel& model);

}  // namespace fuseflow
