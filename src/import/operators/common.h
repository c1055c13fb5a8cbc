// What several operator families share.
#pragma once

#include <vector>

#include "import/importer.h"

namespace fuseflow {

/// 0 .. rank - 1.
std::vector<int> all_labels(int rank);

/// Labels of a matrix product (see kernel.h): those of its batch dimensions are 0.., then these.
inline constexpr int kRow = 1000;
inline constexpr int kInner = 1001;
inline constexpr int kColumn = 1002;

/// Labels of one operand of a product; its batch dimensions are aligned to the right of `batch`.
std::vector<int> product_labels(int rank, int batch, bool left);
/// Labels of the product of a and b, which have `batch` batch dimensions together.
std::vector<int> result_labels(const View& a, const View& b, int batch);
/// Rejects the node unless a and b multiply; gives the number of their batch dimensions.
int product_batch(const NodeImport& node, const View& a, const View& b);

/// op(x) or x op y, where y broadcasts to x's shape.
View unary_view(const NodeImport& node, Op op, const View& x);
View binary_view(const NodeImport& node, Op op, const View& x, const View& y);

/// `value` holds no reduction: it is there several times.
int32_t cut_towards_zero(Kernel& kernel, int32_t value);
/// A quotient or power, which has the type of input 0: of integers it is cut towards zero. (What
/// folds is computed in integers, which do so by themselves.)
int32_t whole_result(const NodeImport& node, Kernel& k, const std::vector<int>& labels,
                     int32_t root);

/// Reduces the dimensions `axes` to extents of 1.
View reduced_view(const NodeImport& node, Reduction reduction, const View& x,
                  const std::vector<int>& axes);

/// Data of a 0/1 matrix or other derived constant as a view.
View derived_constant(NodeImport& node, const std::string& suffix, ConstantPtr data);

/// Label of the dimension that a selection reads or writes; those of its result are 0...
inline constexpr int kSource = 1000;

/// Dimensions given as axes, each once: what an axis means that is given twice is not defined.
std::vector<int> distinct_axes(const NodeImport& node, const std::vector<int64_t>& given, int rank);

/// The indices counted from 0; rejects the node where one is outside of [-extent, extent).
std::vector<int64_t> checked_indices(const NodeImport& node, std::vector<int64_t> indices,
                                     int64_t extent);

/// Rejects the node unless the extents of its parts add up to the whole.
void check_parts(const NodeImport& node, const std::vector<int64_t>& parts, int64_t extent);

/// The leading dimensions of a tensor as one, and places along it.
struct IndexedBlocks {
  std::vector<int64_t> shape;   ///< of the tensor with these dimensions as one
  std::vector<int64_t> places;  ///< by tuple of indices
};

/// Blocks of `data` by tuples of `depth` indices for the dimensions after the first `batch` ones; a
/// tuple is of the batch that its place in the list says. Rejects the node where an index is out of
/// range.
IndexedBlocks indexed_blocks(const NodeImport& node, const View& data, int batch, int64_t depth,
                             const std::vector<int64_t>& indices);

/// sum over the source of where(chosen, x, 0): elements of x along `axis`, chosen by a 0/1 tensor
/// of which `labels` has one for each dimension, kSource included.
View chosen_sum(const NodeImport& node, const View& chosen, const std::vector<int>& labels,
                const View& x, int axis);

/// Elements `indices` (in range) of dimension `axis`, in that order, repeats allowed.
View select_elements(NodeImport& node, const View& data, const std::vector<int64_t>& indices,
                     int axis);

/// Output `output` of the node is the tensors `parts` (at least one), one after another along
/// `axis`.
void concatenate(NodeImport& node, int output, const std::vector<View>& parts, int axis);

/// select_elements() as a view, where the indices are affine in digits of their places.
View gathered_elements(NodeImport& node, const View& data, const std::vector<int64_t>& indices,
                       int axis);

/// GatherElements and ScatterElements by the indices of a TopK (ranking.cpp). False, and nothing
/// happens, if input 1 is none.
bool gather_ranked(NodeImport& node);
bool scatter_ranked(NodeImport& node, bool add);

}  // namespace fuseflow
