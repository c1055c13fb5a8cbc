// What programs cost when a pass has been run on them: for choices whose results are not run as
// they are.
#pragma once

#include <memory>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Judges whole programs by what the pass makes of them, with `costs`; single regions as they are.
/// Nothing is known of a program that the pass refuses.
std::unique_ptr<CostModel> costs_after(const Pass& pass, PassArguments arguments,
                                       std::unique_ptr<CostModel> costs);

}  // namespace fuseflow
