// A linalg function to a program: one region for each operation, or the regions that the file
// gives.
#pragma once

#include <string>
#include <vector>

#include "import/values/options.h"
#include "linalg/function.h"

namespace fuseflow {

/// A constant of the function on which a result depends.
struct LinalgConstant {
  LinalgId value = -1;
  std::string name;  ///< that of its tensor in the program
};

/// The constants that need data of their own, in order of definition.
std::vector<LinalgConstant> needed_constants(const LinalgFunction& function);

/// Arguments on which no result depends need no data.
std::vector<std::string> needed_arguments(const LinalgFunction& function);

/// `options.bindings` has the data of arguments and of needed_constants(); --format names both, and
/// results (`result0`, ...). Throws Error(rejected) for what has no meaning here, with the place in
/// the file `path`.
Program linalg_program(const LinalgFunction& function, const std::string& path,
                       ImportOptions options);

}  // namespace fuseflow
