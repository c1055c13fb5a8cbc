// Whether a program computes what another one does, statement by statement: what schedules, regions
// and formats it has does not count.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

/// The program, its data read from where `kernels` read theirs. Throws Error(rejected) where a
/// statement is another one, lacks, or reads other data. Copies of tensors in other formats are the
/// same tensors.
Program on_same_data(const Program& kernels, Program program);

}  // namespace fuseflow
