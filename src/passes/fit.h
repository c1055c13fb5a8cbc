// Whether a region fits a machine, and letting its phases take turns where that is what it takes.
#pragma once

#include "lower/lower.h"
#include "machine/machine.h"
#include "passes/pass.h"

namespace fuseflow {

/// Whether a machine can be too small for a region at all.
bool is_limited(const Machine& machine);

/// Whether it has so many units of any class, and no more.
bool has_counted_units(const Machine& machine);

/// Lets the phases of a region take turns if they do not fit the machine together. Says so, and
/// where its buffers are not as deep as they could be. `known`: phases that were lowered before.
void make_fit(Program& program, size_t region, const Machine& machine, PassLog& log,
              KnownPhases* known = nullptr);

/// Says which regions a machine has no room for, so that fuseflow-sim would refuse them.
void note_too_large(const Program& program, const Machine& machine, PassLog& log);

}  // namespace fuseflow
