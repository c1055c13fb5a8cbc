// Whether a node keeps to the definition of its operator in its opset (definitions.h): the inputs,
// outputs and attributes that it may have, and types. Asked once for every node, so that operators
// need not.
#pragma once

#include <functional>
#include <string>

#include "import/onnx/model.h"

namespace fuseflow {

/// What is wrong with the node, and how to go on; empty if nothing is. `type_of` gives the element
/// type of a value. The operator is one of ONNX's own domain.
std::string signature_fault(const OnnxNode& node,
                            const std::function<ElementType(const std::string&)>& type_of);

}  // namespace fuseflow
