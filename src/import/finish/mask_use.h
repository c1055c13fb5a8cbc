// How a program uses a tensor as a mask: what its absent entries may mean.
#pragma once

#include "import/values/constant_stats.h"
#include "import/values/draft.h"

namespace fuseflow {

MaskUse mask_use(const DraftProgram& draft, TensorId tensor);

}  // namespace fuseflow
