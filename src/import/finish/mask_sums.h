// Sums of finite masks that f32 (or the type of the scores) has no number for: the least float
// twice is -inf. A row of which every entry is such a sum has a softmax of NaN in the model, as
// one that -inf masks close, though each mask is finite. What the model computes counts as 0 here:
// it is small beside such numbers.
#pragma once

#include <vector>

#include "import/finish/finite_masks.h"
#include "import/finish/masks.h"
#include "import/values/draft.h"

namespace fuseflow {

/// What is known of the values of all tensors of a program in the making, after
/// keep_known_values().
class MaskSums {
 public:
  explicit MaskSums(const DraftProgram& draft);

  /// What sums of masks may be among the values that a maximum is taken of.
  MaskOverflow overflow(const Statement& maximum);

  /// Whether each of a maximum's rows that are open meets `least` by what is known of it: whether
  /// it has an entry that no mask on any way to the scores lowers too far. (`--check` tests the
  /// rest.)
  bool open_rows_meet(const Statement& maximum, const RowScan& scan, const LeastMaximum& least);

 private:
  /// A value, or all those of a tensor: finite ones in [least, largest], and whether they may be
  /// -inf by the model's numbers or because a sum of finite ones is.
  struct Values {
    float least = 0, largest = 0;
    bool known = false;  ///< one value, which is known: `least`
    bool finite = true;  ///< some may be
    bool infinite = false;
    bool overflow = false;
    bool may_be_absent() const { return infinite || overflow; }
    bool unknown() const {
      return least == 0 && largest == 0 && !known && finite && !may_be_absent();
    }
  };

  static Values one(float value);
  static Values absent_sum();
  static Values any_of(const Values& a, const Values& b);
  static Values bounded(Values v, ElementType type);
  static Values apply(Op op, const std::vector<Values>& x);
  static Values sum(const Values& a, const Values& b);
  static Values scaled(Op op, const Values& a, const Values& b);
  static Values larger(const Values& a, const Values& b);
  Values given(TensorId tensor) const;
  template <typename Read>
  Values evaluate_statement(const Statement& s, const Read& read) const;
  std::vector<bool> depends_on(const Statement& s) const;
  Values at(TensorId tensor, const std::vector<int64_t>& coordinates, int depth = 0);
  Values entry(const Expr& scores, const std::vector<int64_t>& place);
  template <typename Found>
  bool some_entry(const Statement& maximum, const std::vector<IndexId>& inner,
                  std::vector<int64_t>& place, Found&& found);
  std::vector<IndexId> entries_of(const Statement& maximum, std::vector<IndexId>& rows) const;

  const DraftProgram& draft_;
  std::vector<const Statement*> makers_;    ///< by tensor
  std::vector<Values> values_;              ///< by tensor
  std::vector<std::vector<bool>> depends_;  ///< by tensor and dimension: differ known values?
  int64_t steps_ = 0;
};

}  // namespace fuseflow
