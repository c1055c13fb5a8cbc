// Declares the floating tensors of a program as of another element type, with what is known of
// their values then. Reference: ir-spec/language.md ("Element types").
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// All tensors of floating types become of `type`, but for those with absent entries whose fill it
/// does not have: the lines returned name them. Facts that rounding may break are found again where
/// there are data, and else assumed, so that what is left out stays left out and checks verify
/// them. `type` is a floating one.
std::vector<std::string> set_float_types(Program& program, ElementType type);

}  // namespace fuseflow
