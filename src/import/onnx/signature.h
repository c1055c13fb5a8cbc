// Whether a node keeps to ONNX's own definition of its operator: how many inputs and outputs, and
// which inputs must be of one type, or must not be integers or booleans. Asked once for every node,
// so that operators need not.
#pragma once

#include <functional>
#include <string>

#include "import/onnx/model.h"

namespace fuseflow {

/// What is wrong with the node, and how to go on; empty if nothing is. `type_of` gives the element
/// type of a value. Operators, and versions of them, that the ONNX library does not know pass.
std::string signature_fault(const OnnxNode& node,
                            const std::function<ElementType(const std::string&)>& type_of);

}  // namespace fuseflow
