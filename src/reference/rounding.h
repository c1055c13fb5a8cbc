// How far a value may move because sums were rounded in another order than the reference's: bounds
// that are carried from statement to statement. A reduction of n terms moves by some roundings of
// the sum of their magnitudes; an operator by what it does to the ends of its operands' ranges and
// to where it turns within them, so that a comparison within rounding of its operands is known to
// be undecided.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ops/op.h"
#include "reference/contract.h"
#include "tensor/element_type.h"

namespace fuseflow::reference {

/// How far op(x) = result may move where each x[c] may move by r[c]. Infinite: anywhere. `as_one`:
/// the operands are the same element, which moves as one.
float moved(Op op, std::span<const float> x, std::span<const float> r, float result,
            bool as_one = false);

/// How far the type's value next to `value` may move where that moves by `bound`. With `either`,
/// what is stored may also be left as it was.
float stored_bound(float value, float bound, ElementType type, bool either);

/// Whether the operator's result is that of exact arithmetic, or the number nearest to it: the
/// same by whatever way it is computed.
bool rounds_correctly(Op op);

/// What is known of all of some numbers: they are multiples of 2^step, none is larger than
/// `largest`. Of zeros alone: both are 0.
struct Grid {
  int step = 0;
  double largest = 0;  ///< infinite also where one of them is NaN
};
Grid grid_of(std::span<const float> values);

/// Whether sums of `terms` products of such factors are the same in every order,
/// since all of their partial sums and products are numbers that f32 has. A product of `terms`
/// numbers is a single term of so many factors.
bool order_is_free(std::span<const Grid> factors, double terms);

/// Whether the operator jumps: a small change of an operand may change the result by 1 or more.
bool has_steps(Op op);

/// Computes the statement's reduction of other factors; tables of the same layout.
using SumOf = std::function<Table(const std::vector<Table>&)>;

/// Bounds of a sum of products, as a table of the result's layout (its fill bounds the fill).
Table sum_bounds(const Table& result, const std::vector<Table>& factors, Watch& watch,
                 const SumOf& sum_of);

/// Bounds of a maximum, minimum or product of `terms` elements. `fold_of`: the same reduction.
Table fold_bounds(Reduction reduction, const Table& result, const Table& body, double terms,
                  Watch& watch, const std::function<Table(const Table&)>& fold_of);

/// The table with every value, and the fill, replaced by f(value, bound); exact.
Table mapped(const Table& table, Watch& watch, const std::function<float(float, float)>& f);

}  // namespace fuseflow::reference
