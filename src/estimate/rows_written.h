// In how many steps a tensor becomes complete for phases that follow it by rows (ir-spec/timing.md,
// "Rows").
#pragma once

#include "estimate/counts.h"

namespace fuseflow::estimate {

/// `writer`: write_values. At least 1: all at once, when the writer is done.
double rows_written(const Structure& structure, const Counts& counts, const Node& writer);

/// How many fibers of a stored level are written, for what reads it. `writer`: write_level.
double fibers_written(const Structure& structure, const Counts& counts, const Node& writer);

}  // namespace fuseflow::estimate
