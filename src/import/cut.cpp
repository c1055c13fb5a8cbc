#include "import/cut.h"

namespace fuseflow {

void cut_dimensions(DraftProgram&) {}
void split_read_at_constants(DraftProgram&) {}

}  // namespace fuseflow
