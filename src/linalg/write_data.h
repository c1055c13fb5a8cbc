// A program's data in MLIR's text, and names that MLIR reads.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// An argument or a result of the written function.
struct LinalgData {
  const Tensor* tensor = nullptr;
  std::string encoding;  ///< its name; empty: dense
};

/// `func.func @main()`: the arguments' data as constants, a call, and every result printed by
/// printMemrefF32 of MLIR's runner.
std::string main_function(const std::string& callee, const std::vector<LinalgData>& arguments,
                          const std::vector<LinalgData>& results);

/// A name of letters, digits and _, not "main".
std::string function_name(const std::string& name);
/// The inside of a string.
std::string quote_for_mlir(const std::string& text);
/// On one line.
std::string printable_comment(const std::string& text);

}  // namespace fuseflow
