// What several operator families share.
#pragma once

#include <vector>

#include "import/importer.h"

namespace fuseflow {

/// 0 .. rank - 1.
std::vector<int> all_labels(int rank);

/// op(x) or x op y, where y broadcasts to x's shape.
View unary_view(const NodeImport& node, Op op, const View& x);
View binary_view(const NodeImport& node, Op op, const View& x, const View& y);

/// Reduces the dimensions `axes` to extents of 1.
View reduced_view(const NodeImport& node, Reduction reduction, const View& x,
                  const std::vector<int>& axes);

/// Data of a 0/1 matrix or other derived constant as a view.
View derived_constant(NodeImport& node, const std::string& suffix, ConstantPtr data);

/// Elements `indices` (in range) of dimension `axis`, in that order, repeats allowed.
View select_elements(NodeImport& node, const View& data, const std::vector<int64_t>& indices,
                     int axis);

}  // namespace fuseflow
