// Hardware that streams and tiles share: one memory, one set of scratchpads, one set of links. A
// machine describes each once; here is what cores have of it. Knows no graphs and no timing.
#pragma once

#include "machine/machine.h"

namespace fuseflow {

/// Fills what cores have and the machine does not say of them: the memory (from `dram`) and, where
/// the machine has units for streams too, each core's share of `scratchpad` and its links. Throws
/// (rejected) if a key of a core says something else than its share. To be called once all keys are
/// set; does nothing without cores.
void share_hardware(Machine& machine);

}  // namespace fuseflow
