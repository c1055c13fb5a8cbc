// What the constants of a machine must be together, beyond what each may be by itself (keys.h).
#pragma once

#include "machine/machine.h"

namespace fuseflow {

/// Throws Error(rejected) that names the key, its value and what was expected. Constants of parts
/// that the machine does not use may be anything.
void check_machine(const Machine& machine);

}  // namespace fuseflow
