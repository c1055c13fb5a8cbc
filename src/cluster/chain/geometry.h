// The cluster shapes that the planner chooses among, and what follows from a shape for a plan. The
// shape itself and its communication are in graph/cluster_shape.h.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cluster_shape.h"

namespace fuseflow::cluster {

/// Every shape of {1,2,4,8,16}^4 in ascending order of (m, n, k, l): 625.
std::vector<ClusterShape> all_cluster_shapes();

/// Pruning rule 2: the blocks of either product fit a cluster (m n k <= 16), the two products agree
/// (l >= k, so that a shuffle group has at least one block), and there is something to link
/// (m n k > 1).
bool shape_allowed(const ClusterShape& shape);

/// Adds that E receives in global memory for each of its elements: the number of clusters that
/// share the same (M, L) range. One is a plain store.
int64_t inter_cluster_reduce(int64_t clusters_along_n, int64_t clusters_along_k);

}  // namespace fuseflow::cluster
