// The statements of a region as one expression graph over region indices: every instance's body
// with its producers inlined, equal nodes shared, and for each node its fill, its facts and which
// patterns of absent operands leave the fill. Independent of the order of loops.
#pragma once

#include <optional>
#include <vector>

#include "lower/region_indices.h"

namespace fuseflow {

struct ExprNode {
  enum class Kind : uint8_t {
    view,
    constant,
    coordinate,
    apply,
    reduce,
    filtered,  ///< the child's value, with an entry only where it is not `constant`
  } kind = Kind::constant;
  TensorId tensor = -1;            ///< view: an input or a stored intermediate
  std::vector<Affine> subscripts;  ///< view: one per dimension; coordinate: one
  float constant = 0;
  Op op = Op::add;
  Reduction reduction = Reduction::sum;
  std::vector<int> over;     ///< reduce: region indices that end here
  double count = 1;          ///< reduce: product of their extents
  std::vector<int> dropped;  ///< filtered: region indices of the tensor's compressed levels
  std::vector<int> children;

  std::vector<int> free;      ///< region indices it depends on, ascending
  std::optional<float> fill;  ///< its value where its formula does not hold; none: everywhere
  Facts facts;
  /// apply with a fill: minimal sets of children (bit c) that must be present for another value.
  std::vector<unsigned> patterns;
  bool has_reduce = false;  ///< here or below
  size_t statement = 0;     ///< the statement that it came from first

  /// filtered: where the child is not visited, its value is `constant`.
  bool by_structure = false;
};

struct Expressions {
  std::vector<ExprNode> nodes;   ///< children before parents
  std::vector<int> of_instance;  ///< the node of each instance's value
};

Expressions build_expressions(const Program& program, const Region& region,
                              const RegionIndices& indices);

/// What region_indices() gives, with the expressions that it looks at.
struct AnalysedRegion {
  RegionIndices indices;
  Expressions expressions;
};
AnalysedRegion analysed_region(const Program& program, size_t region, size_t max_instances = 4096);

/// The same of a program with one region, of which `phases` says what is written, all in one phase.
/// Nothing where there is no order with all loops shared that may be.
std::optional<AnalysedRegion> analysed_phase(const Program& program, const RegionPhases& phases,
                                             size_t max_instances);

/// Preferences that let a sparse operand (a mask) filter before a reduction is computed: the
/// indices of its compressed levels before the reduction's own.
std::vector<OrderEdge> mask_preferences(const Program& program, const Expressions& expressions);

}  // namespace fuseflow
