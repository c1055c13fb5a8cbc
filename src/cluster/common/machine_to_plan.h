// The machine as plans see it. To a simulation a rate of 0 is no limit; a plan divides by rates,
// and must not count on links that are not there.
#pragma once

#include "machine/machine.h"

namespace fuseflow::cluster {

/// Throws Error(usage) where the machine has no cores, or one of their rates or sizes is 0. A
/// machine without links, or with links in clusters of some sizes alone, is one to plan for.
void require_cores(const Machine& machine);

/// The machine without the clusters of more than one core whose links have no bandwidth.
Machine machine_to_plan(Machine machine);

}  // namespace fuseflow::cluster
