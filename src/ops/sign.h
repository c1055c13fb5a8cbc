// What is known of results because operands are equal, or one is a multiple of the other: squares,
// even powers, `max(x, -x)`. The fill calculus (op.h) sees operands one by one; this sees values by
// number.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ops/op.h"

namespace fuseflow {

/// The sign of a value, as that of a product of other values.
struct Sign {
  bool negative = false;
  std::vector<int> odd;  ///< those of unknown sign that occur an odd number of times, ascending
  /// A factor that was left out may be 0, of either sign: dividing by this value says nothing.
  bool may_be_zero = false;
};

/// Facts of the values of an expression. Values have numbers: equal numbers, equal values.
class SignedFacts {
 public:
  /// Facts of the value `number`, which is `op` of the values `of`. They are those of result_facts,
  /// and what equal operands say. Operands come before results.
  Facts apply(Op op, int number, std::span<const int> of, std::span<const Operand> operands);

 private:
  Sign sign_of(int number, const Facts& facts, bool divides) const;
  Sign sign_of_result(Op op, int number, std::span<const int> of,
                      std::span<const Facts> facts) const;

  std::map<int, Sign> known_;
};

}  // namespace fuseflow
