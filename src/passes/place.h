// The pass `place`: where inputs and intermediates live.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass place_pass();

}  // namespace fuseflow
