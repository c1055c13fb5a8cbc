// How far in front of its own row a load reads a tensor that an earlier phase completes row by row
// (ir-spec/timing.md, "Rows"): neighbours of a node, keys of a query, a window.
#pragma once

#include <vector>

#include "estimate/structure.h"
#include "sim/common/tensor_data.h"

namespace fuseflow::estimate {

/// By NodeId, as a share of the tensor's rows. 0: while the outermost loop is at its r-th element,
/// no row behind the r-th is read. 1: any may be. Below 0: the node reads nothing (its level is
/// dense). `data`: null where coordinates are not known.
std::vector<double> rows_ahead(const Structure& structure, const TensorData* data);

}  // namespace fuseflow::estimate
