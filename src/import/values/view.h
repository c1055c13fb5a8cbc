// A value of the model as the importer sees it: an index expression. Every dimension is made of
// atoms (indices, outermost first; none: extent 1), and the value is an expression over accesses to
// tensors with subscripts affine in the atoms. Reshape, Transpose, Slice, Expand and the like
// change only this view; they never move data. kernel.h combines views into statements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

struct View;

/// A value that selects rows of another and weights them: value[e, ...] = weights[e] *
/// source[rows[e], ...]. Kept beside the view, so that a scatter of it becomes one sparse product.
struct Selection {
  std::shared_ptr<const View> source;
  std::vector<int64_t> rows;
  std::vector<float> weights;
};

/// A value made by Concat: its parts along one dimension. A contraction over that dimension becomes
/// a sum of contractions over the parts.
struct Parts {
  int dim = 0;
  std::vector<std::shared_ptr<const View>> views;
};

/// What TopK gives: which elements of a value, by their ranks along a dimension. Kept beside the
/// view, so that what goes back to its place (a scatter) is selected there and not moved.
struct Ranking {
  std::shared_ptr<const View> source;
  std::shared_ptr<const View> ranks;  ///< of all elements, 0 the first
  int dim = 0;
  int64_t count = 0;     ///< how many are taken
  bool indices = false;  ///< the value is their places, else the elements themselves
};

/// Most dimensions of a tensor: far more than anything can be stored with. Work is done by
/// dimension, too: tensors of few elements and thousands of dimensions of extent 1 would take
/// minutes.
inline constexpr int kMostDimensions = 64;

struct View {
  ElementType type = ElementType::f32;
  int code = 0;  ///< ONNX's number of the element type where `type` only stores it, else 0
  std::vector<std::vector<IndexId>> dims;  ///< the atoms of each dimension
  std::vector<int64_t> atoms;              ///< extent by atom
  std::vector<Expr> nodes;                 ///< children before parents, the root last; over atoms

  std::shared_ptr<const Selection> selection;  ///< of the value as it stands; views of it have none
  std::shared_ptr<const Parts> parts;
  std::shared_ptr<const Ranking> ranking;
  /// A sequence of tensors of one type instead of a tensor: dims, atoms and nodes say nothing.
  std::shared_ptr<const std::vector<View>> sequence;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t extent(int dim) const;
  std::vector<int64_t> shape() const;
  int64_t size() const;
  /// The value is one access; its node.
  const Expr* plain_access() const {
    return nodes.size() == 1 && nodes[0].kind == Expr::Kind::access ? &nodes[0] : nullptr;
  }
};

/// The whole of tensor `id`; dims of extent 1 get no atom and the subscript 0.
View whole_tensor(TensorId id, ElementType type, const std::vector<int64_t>& shape);

/// A constant of shape [] (rank 0).
View scalar_view(float constant, ElementType type = ElementType::f32);

/// Replaces atom `atom` by an affine combination of (possibly new) atoms everywhere.
void substitute(View& value, IndexId atom, const Subscript& replacement);

/// Splits the atoms of dimension `dim` so that its factorisation has the given extents (product
/// equal). False, and nothing changes, if an atom would have to be cut where it cannot be.
bool refine(View& value, int dim, const std::vector<int64_t>& extents);

/// The view with dimension `dim` (a single atom, or extent 1) placed at `start` of an extent of
/// `extent`: coordinate c of the result reads coordinate c - start.
View placed(const View& view, int dim, int64_t start, int64_t extent);

/// Whether reading `view` along `dim` beyond its extent reads beyond a tensor's extent (and so 0).
bool reads_zero_outside(const View& view, int dim,
                        const std::function<int64_t(TensorId, size_t)>& extent_of);

/// Joins adjacent atoms of every dimension that are only ever used as one (64*h + d).
void coalesce(View& value);

/// Row-major reinterpretation. False if the atoms cannot be regrouped to the shape.
bool reshape(View& value, const std::vector<int64_t>& shape);

void transpose(View& value, const std::vector<int>& order);

/// Elements start, start + step, ... (count of them) of dimension `dim`. False if the dimension is
/// made of several atoms that the slice would cut through.
bool slice(View& value, int dim, int64_t start, int64_t step, int64_t count);

/// Numpy broadcasting to `shape` (already checked to be compatible).
void expand(View& value, const std::vector<int64_t>& shape);

/// Repeats dimension `dim` `times` times.
void tile(View& value, int dim, int64_t times);

/// The common refinement of two factorisations of the same extent, outermost first; empty optional
/// when their cuts do not divide each other.
std::optional<std::vector<int64_t>> common_refinement(const std::vector<int64_t>& a,
                                                      const std::vector<int64_t>& b);

/// Broadcast shape by numpy's rule; throws Error(rejected) naming `what` when incompatible.
std::vector<int64_t> broadcast_shape(const std::vector<std::vector<int64_t>>& shapes,
                                     const std::string& what);

}  // namespace fuseflow
