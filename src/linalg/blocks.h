// Blocks of encodings: an index runs through blocks of one size in all that a kernel reads and
// writes, and a file says them only where it stores them.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Dense tensors get the blocks of the sparse ones that are walked over together with them. Sparse
/// inputs and constants whose own blocks do not fit, as those of what is computed have others, are
/// read from copies (Tensor::copy_of). Where blocks are not possible, as in sums of indices,
/// nothing has any.
void agree_on_blocks(Program& program);

}  // namespace fuseflow
