// The data of kernels' tensors, as files that run_host reads: inputs, and what the simulator gives.
#pragma once

#include "cuda/files.h"

namespace fuseflow::cuda {

/// data/NUMBER.f32 for each tensor that the regions read or give, by its number in the program:
/// f32, little-endian, row-major, those of the result as fuseflow-sim dumps them; every region of
/// the program has a graph. Throws what loading and running a program throw.
std::vector<TextFile> data_files(const Program& program, const std::vector<Generated>& kernels,
                                 const Machine& machine, int threads);

/// The same for the tensors of a table's kernels, by their numbers in the table: what the program
/// of the most rows reads and gives, of which fewer rows are the first ones.
std::vector<TextFile> data_files(const std::vector<TableEntry>& table, const Machine& machine,
                                 int threads);

}  // namespace fuseflow::cuda
