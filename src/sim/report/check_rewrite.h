// Of a rewritten program that stores values of narrow types: whether its statements compute what
// those do that they came from, each rounded where its tensors are stored. Where sums were
// reordered, other intermediates may be rounded: bounds allow for that, and the two are compared in
// f32 throughout as well. What was simulated is compared with the statements of the regions.
#pragma once

#include <memory>
#include <vector>

#include "sim/report/check.h"

namespace fuseflow {

/// Whether checks have to compare in these two steps.
bool needs_two_steps(const Program& program);

/// The program without what it came from.
Program without_reference(Program program);

/// The tensors of `written` whose statement computes something else than what it came from.
std::vector<CheckedTensor> check_rewrite(const Program& program,
                                         const std::vector<std::shared_ptr<const Storage>>& inputs,
                                         const std::vector<TensorId>& written,
                                         const CheckSettings& settings);

}  // namespace fuseflow
