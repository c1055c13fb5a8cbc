// What is thrown where FuseFlow itself is wrong, whatever its input is. Not an Error: who tries
// several ways and goes on where one is refused must not go on here.
#pragma once

#include <stdexcept>

namespace fuseflow {

/// A tool prints it as an internal error and ends with ExitCode::internal (tools/shell/tool.h).
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace fuseflow
