// The pass `parallelize`: which loops run in parallel copies.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass parallelize_pass();

}  // namespace fuseflow
