// The pass that lists, sets and chooses in which formats regions read inputs and constants
// (ir-spec/storage.md).
#pragma once

#include "passes/pass.h"

namespace fuseflow {

Pass store_pass();

}  // namespace fuseflow
