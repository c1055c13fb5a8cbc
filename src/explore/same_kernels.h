// Whether a program computes what another one does, statement by statement: what schedules, regions
// and formats it has does not count.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

/// The program with what is known of the data of `kernels`, read from where these read them. Throws
/// Error(rejected) where a statement is another one, or lacks; where a tensor has another role,
/// type, shape, fill or source; and where graphs rely on facts that the data have not. Copies of
/// tensors in other formats are the same tensors.
Program on_same_data(const Program& kernels, Program program);

}  // namespace fuseflow
