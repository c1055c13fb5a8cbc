// What may be worth trying on a region: all changes of which some help against what limits it.
// Nothing here knows whether they do: region_trials.h finds out.
#pragma once

#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "verdict/limit.h"
#include "whatif/remedy.h"

namespace fuseflow {

/// `slice` holds one region with its graph. `given`: the same before it was lowered; null if its
/// graph was not made from statements, so that passes cannot change it.
std::vector<Remedy> remedies_for(const Program& slice, const Program* given, const Machine& machine,
                                 const RegionFigures& figures, const Limit& limit);

}  // namespace fuseflow
