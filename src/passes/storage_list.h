// Says what is read in which format, and how it could be read otherwise.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

void list_storage(const Program& program, PassLog& log);

}  // namespace fuseflow
