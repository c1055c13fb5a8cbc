// One statement of the reference: its expression evaluated from the leaves up, over present points
// where the rest is a fill, else over all.
#pragma once

#include <vector>

#include "reference/access.h"
#include "reference/contract.h"
#include "reference/reference.h"
#include "reference/results.h"
#include "reference/table.h"
#include "reference/watch.h"

namespace fuseflow::reference {

/// n results of an operator, and its operands and their bounds side by side.
struct OperatorRow {
  const std::vector<std::vector<float>>& operands;
  const std::vector<std::vector<float>>& bounds;
  const float* results;
  int64_t n;
  /// Results whose two operands are one element of an array: all of them, or one at most.
  bool all_as_one = false;
  int64_t as_one = -1;
  /// Whether the one operand is the other to the last bit where both are equal, by result; null: at
  /// none.
  const uint8_t* selected = nullptr;
  int64_t selected_stride = 0;

  bool is_one(int64_t result) const {
    if (all_as_one || as_one == result) return true;
    const auto i = static_cast<size_t>(result);
    return selected != nullptr && selected[result * selected_stride] != 0 &&
           operands[0][i] == operands[1][i];
  }
};

class StatementEvaluator {
 public:
  StatementEvaluator(EvaluationState& shared, const Statement& statement);
  Value run();
  /// Comparisons and other steps that rounding of their operands may decide (with bounds).
  int64_t undecided() const { return undecided_; }

 private:
  /// A reduction over `over`, of which `free` stays.
  struct Fold {
    Reduction reduction;
    const Loops& over;
    const Loops& free;
  };

  void block(Results& results);
  Loops free_indices(int32_t position) const;
  void mark_free(int32_t position, std::vector<bool>& free) const;
  void split_product(int32_t position, std::vector<int32_t>& factors) const;

  Table eval(int32_t position);
  Table coordinate(IndexId index);

  Table apply(int32_t position);
  std::vector<Table> operands_of(const Expr& node);
  Table eval_at(int32_t position, const PatternPtr& pattern);
  Table apply_present(Op op, const std::vector<Table>& operands, const PatternPtr& pattern,
                      float fill, const Loops& loops);
  Table apply_everywhere(const Expr& node, const std::vector<Table>& operands, const Loops& loops);
  /// Bounds of results; counts undecided steps.
  void bound_results(Op op, const OperatorRow& row, float* to);

  Table reduce(int32_t position);
  Table contraction(int32_t position);
  Table mean(int32_t position);
  int choose_driver(const std::vector<Table>& factors, const Loops& loops);
  Table fold(const Table& body, const Fold& of);
  Table fold_values(const Table& body, const Fold& of);
  Facts facts(const Table& table);
  Grid grid(const Table& table);
  /// Whether every order of such a reduction gives the same.
  bool fixed(const std::vector<Table>& factors, double terms);
  bool fixed(const Table& body, const Fold& of);
  double count(const Loops& over) const;

  EvaluationState& shared_;
  const Program& program_;
  const Statement& statement_;
  const ReferenceOptions& options_;
  Watch& watch_;
  Domain domain_;
  Accesses accesses_;  // of the domain
  int64_t undecided_ = 0;
};

}  // namespace fuseflow::reference
