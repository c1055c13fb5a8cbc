// The passes, each in the file of its name. pass.cpp has them in a table.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass rewrite_pass();  ///< algebra on statements
Pass fuse_pass();     ///< which kernels share a region
Pass order_pass();    ///< which loop of a region is outside which
Pass place_pass();    ///< where inputs and intermediates live
Pass store_pass();    ///< in which formats regions read and write (storage.cpp; ir-spec/storage.md)
Pass join_pass();     ///< how levels that meet in a loop are joined
Pass block_pass();    ///< which dimensions are stored and streamed in dense blocks
Pass parallelize_pass();  ///< which loops run in parallel copies

}  // namespace fuseflow
