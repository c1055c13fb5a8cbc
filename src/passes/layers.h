// Which kernels belong to the same layer of the model: by the module paths in ONNX value and weight
// names where they tell, else by contractions with a sparse input.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "passes/regroup.h"

namespace fuseflow {

/// The module path of a value's or weight's name, outermost first: "/blocks.0/attn/MatMul_output_0"
/// and "blocks.0.attn.weight" both give {"blocks.0", "attn"}.
std::vector<std::string> module_path(const std::string& name);

/// Groups of consecutive regions, one a layer.
std::vector<Group> layer_groups(const Program& program);

}  // namespace fuseflow
