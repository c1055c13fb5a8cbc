// The pass `fuse`: which kernels share a region.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass fuse_pass();

}  // namespace fuseflow
