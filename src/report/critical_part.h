// The part of a large graph that is worth a picture: around its busiest nodes.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "graph/collapse.h"
#include "report/page.h"

namespace fuseflow {

/// Rows of one region, by the number of the node.
using RowsByNode = std::map<size_t, const NodeRow*>;

/// Numbers (in `groups`) of at most `most` groups that hang together: the busiest one, and always
/// the busiest of those that give or take what those so far take or give.
std::set<size_t> critical_part(const std::vector<NodeGroup>& groups, const RowsByNode& rows,
                               size_t most);

}  // namespace fuseflow
