// The part of a large graph that is worth a picture: around its busiest nodes.
#pragma once

#include <set>
#include <vector>

#include "graph/collapse.h"
#include "report/waits.h"

namespace fuseflow {

/// Numbers (in `groups`) of at most `most` groups that hang together: the busiest one, and always
/// the busiest of those that give or take what those so far take or give.
std::set<size_t> critical_part(const std::vector<NodeGroup>& groups, const RowsByNode& rows,
                               size_t most);

}  // namespace fuseflow
