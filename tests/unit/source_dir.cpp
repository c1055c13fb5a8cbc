#include "source_dir.h"

namespace fuseflow {

// The one unit that is compiled with the path of the clone in it: all others are compiled with the
// same words in every clone, so that a compiler cache helps.
std::string source_dir() {
  return FUSEFLOW_SOURCE_DIR;
}

}  // namespace fuseflow
