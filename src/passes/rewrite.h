// The pass `rewrite`: algebra on statements, by expected cycles. What can be rewritten, and what
// that gives, is in rewrite/; here is chosen what is done.
#pragma once

#include <string>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// The program with the rewrites that are expected to gain; as it was where none is. Sums are
/// reordered only if `allow_reassociation`. `fused`: judges programs as they are once fused, and no
/// rewrite may lose there; null: nobody asks. Of a program with tensors that stay in the scratchpad
/// from region to region others may stay.
Program rewrite_by_cost(const Program& given, const Machine& machine, bool allow_reassociation,
                        CostModel& costs, PassLog& log, CostModel* fused = nullptr);

/// A CSV row for every rewrite that is possible or refused: what it makes of the program, its
/// cycles by estimate, and why it is refused.
std::string list_rewrites(const Program& program, const PassArguments& arguments);

}  // namespace fuseflow
