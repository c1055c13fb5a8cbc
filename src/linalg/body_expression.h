// The body of a structured operation as an expression over the indices of one kernel.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "linalg/integer_ops.h"
#include "linalg/out_places.h"
#include "linalg/structured.h"

namespace fuseflow {

class BodyExpression {
 public:
  BodyExpression(LinalgValues& values, const LinalgOp& op, int group)
      : values_(values), op_(op), group_(group), kernel_(op.name) {}

  /// Refuses bodies that are no expression of ours; bounds the recursion of all that follows.
  void check_size() const;
  /// A loop that is at this round: a number instead of an index.
  void set_round(int loop, int64_t number);
  /// Declares loops, the dimensions of the result (of these extents, written at `places`), and what
  /// the `roots` (nodes of the body) and `more` (operands) read; once, before any expression.
  /// `carried`: an out that is read only where nothing is written.
  void prepare(const OutPlaces& places, const std::vector<int64_t>& extents,
               const std::vector<int32_t>& roots, const std::vector<int32_t>& more,
               int32_t carried = -1);
  /// By out: what stands for it from now on. The body is made again.
  void replace_operands(std::map<int32_t, int32_t> values);

  int32_t expression(int32_t node);
  /// Operand `out` at the place that is written.
  int32_t use_at_place(int32_t out);
  /// Another tensor there; before any expression.
  int32_t use_like(const View& value, int32_t out);
  /// 1 where the round that the loops say writes the element; -1: it always does.
  int32_t written();
  /// 1 where some round does; of places that are written once.
  int32_t written_by_some();
  Kernel& kernel() { return kernel_; }
  /// A node as a sum of loops times numbers, if it is one.
  std::optional<Subscript> affine(int32_t node) const;

 private:
  const LinalgOperand& operand(int32_t n) const {
    const auto inputs = static_cast<int32_t>(op_.inputs.size());
    return n < inputs ? op_.inputs[static_cast<size_t>(n)]
                      : op_.outs[static_cast<size_t>(n - inputs)];
  }
  const LinalgValue& value_of(LinalgId id) const {
    return values_.function.values[static_cast<size_t>(id)];
  }
  void note_undefined(LinalgId id);
  void declare_operand(int32_t n);
  void declare_chosen();
  std::vector<int> labels_of_map(int32_t n) const;
  Subscript over_indices(const Subscript& map);
  std::vector<Subscript> over_indices(const std::vector<Subscript>& map);
  /// The subscripts of the place that is written.
  std::vector<Subscript> place() const;
  /// A sum over labels as a number; `loops`: numbers that stand for labels.
  int32_t number_of(const Subscript& sum, const std::map<int, int32_t>& loops);
  /// Of a loop that is no index.
  int32_t number_of_loop(int loop);
  /// Of one that is an index; refused where f32 does not hold all of its numbers.
  int32_t coordinate(int label);
  /// 1 where all conditions hold; -1: they always do.
  int32_t conditions_hold(const std::map<int, int32_t>& loops);
  int32_t use(int32_t operand);
  /// Refuses tensor.extract at places outside of dimension `d`.
  void check_place(const Subscript& place, LinalgId id, size_t d) const;
  ScalarTypes types_of(const BodyNode& node) const;
  /// Whether a node is known to be no number below 0.
  bool is_nonnegative(int32_t n) const;
  int32_t applied(const BodyNode& node);
  /// The number that a node is, or that every element of the operand is that it reads.
  std::optional<float> number_everywhere(int32_t n) const;
  /// The last bits of an integer (andi with 2^n - 1), or all others than it has (xori with -1).
  std::optional<int32_t> bits(const BodyNode& node);
  int32_t element(int32_t n);

  LinalgValues& values_;
  const LinalgOp& op_;
  int group_;
  Kernel kernel_;
  OutPlaces places_;                     ///< of the result that is made
  std::map<int, int64_t> rounds_;        ///< by loop that is at one round
  std::map<int32_t, int32_t> replaced_;  ///< by operand: what stands for it
  bool plain_ = true;                    ///< every operand is read by single loops
  std::vector<bool> needed_;
  std::map<int32_t, int> handles_;     ///< by operand: its number in the kernel
  std::map<int32_t, View> simple_;     ///< by operand, where not plain
  std::map<LinalgId, View> elements_;  ///< tensors that bodies read by place
  std::map<int32_t, int32_t> made_;    ///< by body node
};

}  // namespace fuseflow
