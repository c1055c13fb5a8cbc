// One statement in the making: operands with a label for each dimension, an expression over them,
// and the labels of the result. Labels work as in einsum: equal labels are one index. Operands
// whose dimensions are made of different atoms are refined until they agree.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/values/view.h"

namespace fuseflow {

class Kernel {
 public:
  /// `what` names the operator's node in errors.
  explicit Kernel(std::string what) : what_(std::move(what)) {}

  /// Declares an operand; labels[d] is the label of its dimension d. An extent of 1 broadcasts.
  /// All operands are declared before the first node is made. Throws when there is not one label a
  /// dimension: what the operator's definition fixes, a model need not keep to.
  int operand(const View& value, std::vector<int> labels);
  /// Declares an operand that broadcasts from the right to labels 0 .. rank-1.
  int broadcast(const View& value, int rank);
  /// Declares an extent for a label that no operand has.
  void declare(int label, int64_t extent);

  /// An operand as an expression node.
  int32_t use(int operand);
  /// An operand that was not aligned: subscript d, over the indices of labels, stands for dimension
  /// d. Its dimensions must be single atoms (see Importer::simple).
  int32_t use_at(const View& value, const std::vector<Subscript>& subscripts);
  int32_t constant(float value);
  int32_t apply(Op op, std::vector<int32_t> children);
  /// Several operands from left to right; of very many, runs are joined before they are joined to
  /// each other, since expressions may be only so deep (kMaxExpressionDepth).
  int32_t apply_all(Op op, const std::vector<int32_t>& operands);
  int32_t reduce(Reduction reduction, const std::vector<int>& labels, int32_t body);
  int32_t coordinate(int label);
  /// An affine combination of the kernel's indices as a number.
  int32_t affine(const Subscript& subscript);
  /// The (single) index of a label that was given by declare().
  IndexId index(int label);
  int64_t extent(int label) const;

  /// The result as a value: dimension d of extent 1 where labels[d] < 0, else the label's.
  View result(const std::vector<int>& labels, int32_t root, ElementType type);

 private:
  struct Operand {
    View value;
    std::vector<int> labels;
  };
  int32_t scaled_coordinate(IndexId index, int64_t factor);
  void align();
  void align_label(int label, std::vector<int64_t> factors);
  int32_t inline_value(const View& value, const std::vector<Subscript>& map);

  std::string what_;
  std::vector<Operand> operands_;
  std::map<int, std::vector<int64_t>> factors_;  ///< extents of a label's indices
  std::map<int, std::vector<IndexId>> indices_;
  std::vector<int64_t> extents_;
  std::vector<Expr> nodes_;
  bool aligned_ = false;
};

}  // namespace fuseflow
