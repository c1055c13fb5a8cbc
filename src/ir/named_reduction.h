// A reduction inside of a statement as a tensor of its own, of which facts can be stated.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Splits a statement at one of its reductions (a node, not the root): a temporary, dense and with
/// nothing known of it, is defined before the statement, which reads it. Returns the temporary.
TensorId name_reduction(Program& program, size_t region, size_t statement, int32_t node);

}  // namespace fuseflow
