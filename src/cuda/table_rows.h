// What programs of a table have in common, and which of their tensors have rows.
#pragma once

#include <vector>

#include "cuda/launch_rows.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// The rows of each program. Throws Error(rejected) as make_table() does.
std::vector<TableRows> table_rows(const std::vector<Program>& programs);

}  // namespace fuseflow::cuda
