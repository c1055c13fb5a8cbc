// Lines of schedules that a region cannot meet any more. They were written for other regions,
// placements or formats: a pass that changes these does not write them.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

/// Leaves out lines of a region's schedule as long as the region cannot be lowered with them: its
/// order, its parallel copies, then uses that must stream or be computed again, the last first. A
/// note for each. A region that can be lowered (complete_schedule.h), or that nothing helps, stays
/// as it is.
void leave_out_impossible(Program& program, size_t region, PassLog& log);

/// Leaves out impossible lines in every region of `after`, which a pass has made of `before`, that
/// is not as it was there and has no graph. For run_pass (pass.h).
void leave_out_impossible(const Program& before, Program& after, PassLog& log);

}  // namespace fuseflow
