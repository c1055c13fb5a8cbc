// The kernels' functions on the CPU, for tests: values, and every race that any order of events
// could show. The same functions for the GPU: gpu/fuseflow.h.
#pragma once

#include <cmath>

#define FF_FN inline
#define FF_KERNEL(name, Core) inline void name(const Core& core, const ff::Params& params)
#define FF_BEGIN(scratchpad, barriers, Core) (void)params
#define FF_TABLE constexpr

#include "tensors.h"

#include "layout.h"
#include "operators.h"

#include "elements.h"

#include "cluster.h"
#include "primitives.h"

#include "protocol.h"
#include "rows.h"
