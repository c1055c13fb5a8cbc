// How far in front of its own row a load reads a tensor that an earlier phase completes row by row
// (ir-spec/timing.md, "Rows"): neighbours of a node, keys of a query, a window.
#pragma once

#include <functional>
#include <vector>

#include "estimate/structure.h"
#include "tensor/storage.h"

namespace fuseflow::estimate {

/// The most by which a coordinate of a compressed level is in front of the place of its own fiber,
/// as shares: of `rows` (the coordinate c names row `stride` * c + `offset`) and of the fibers.
double coordinates_ahead(const Level& level, double rows, int64_t stride, int64_t offset);

/// The same of level 1 of a tensor, as far as it is known; else 1.
using AheadOf = std::function<double(TensorId tensor, double rows, int64_t stride, int64_t offset)>;

/// By NodeId, as a share of the tensor's rows. 0: while the outermost loop is at its r-th element,
/// no row behind the r-th is read. 1: any may be. Below 0: the node reads nothing (its level is
/// dense).
std::vector<double> rows_ahead(const Structure& structure, const AheadOf& ahead_of);

}  // namespace fuseflow::estimate
