// Which loops of a region are worth parallel copies: a climb that doubles the copies around the
// busiest nodes, phase by phase, as long as the estimate falls and the machine has units.
#pragma once

#include <vector>

#include "explore/trial.h"

namespace fuseflow {

/// Every step that was tried from `base` (estimated, or refused), in order. `most`: copies of one
/// node, all nested factors together. Ids are not set.
std::vector<Trial> climb_copies(const Evaluator& evaluator, const Trial& base, int64_t most);

}  // namespace fuseflow
