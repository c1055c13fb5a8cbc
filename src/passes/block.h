// The pass `block`: which dimensions are stored and streamed in dense blocks.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass block_pass();

}  // namespace fuseflow
