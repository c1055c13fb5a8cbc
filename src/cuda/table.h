// Programs of the same statements for different numbers of rows as one table of kernels: which of
// them a call takes is chosen by its rows. Meaning: ir-spec/cuda.md, "A table of plans".
#pragma once

#include <string>
#include <vector>

#include "cuda/generate.h"
#include "cuda/launch_rows.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// For up to `rows.most` rows.
struct TableEntry {
  Program program;
  TableRows rows;
  /// Those of several entries with one text have one name.
  std::vector<Generated> kernels;
};

/// The entries, the one of the fewest rows first. Throws Error(rejected) for programs that differ
/// in more than the first dimension of tensors, whose rows depend on each other, or that have
/// regions without a kernel.
std::vector<TableEntry> make_table(std::vector<Program> programs, const Machine& machine);

}  // namespace fuseflow::cuda
