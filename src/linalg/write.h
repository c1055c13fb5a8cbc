// A program's statements as linalg.generic operations on tensors: text that mlir-opt reads.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

struct LinalgWriteOptions {
  bool encodings = true;     ///< formats as sparse_tensor encodings; else all tensors are dense
  bool inputs_only = false;  ///< encodings of inputs and constants alone
  bool main = false;         ///< also a function that holds the data, calls the other and prints
};

/// One function of the program's name. Its arguments are inputs and constants, in the program's
/// order, its results are the program's; each operation says its region (`fuseflow.region`). All
/// elements are f32, which everything is computed in. Throws Error(rejected) for what cannot be
/// said: formats with bit vectors, extents that are not known.
std::string write_linalg(const Program& program, const LinalgWriteOptions& options);

}  // namespace fuseflow
