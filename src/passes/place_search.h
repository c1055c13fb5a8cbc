// Search of placements by estimated cost: which intermediates of a region to keep in the scratchpad
// instead of streaming or recomputing them, and in which order each phase that follows from it
// loops.
#pragma once

#include "machine/machine.h"
#include "passes/pass.h"

namespace fuseflow {

/// Stores further intermediates of a region where that is cheaper, as long as they fit the machine;
/// changes the region's order, if it has none of its own. Says what it changed. `costs` judges what
/// is stored; null: expected stream lengths do, which choose orders in any case.
void improve_placements(Program& program, size_t region, const Machine& machine, CostModel* costs,
                        PassLog& log);

/// Whether a machine can be too small for a region at all.
bool is_limited(const Machine& machine);

/// Lets the phases of a region take turns if they do not fit the machine together.
void make_fit(Program& program, size_t region, const Machine& machine, PassLog& log);

}  // namespace fuseflow
