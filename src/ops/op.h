// Scalar operators: one table gives every operator its name, arity, cost and meaning. Parser,
// verifier, reference, lowering and simulator all read this table; nobody switches over names.
// The compute type is f32: operands and results are floats, booleans are 0 and 1.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

enum class Op : uint8_t {
  // unary
  neg,
  abs,
  sign,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  relu,
  sigmoid,
  tanh,
  erf,
  softplus,
  gelu,
  gelu_tanh,
  silu,
  hardswish,
  floor,
  ceil,
  round,
  logical_not,
  isnan,
  isinf,
  sin,
  cos,
  // binary; for leaky_relu and elu the second operand is alpha
  add,
  sub,
  mul,
  div,
  pow,
  min,
  max,
  mod,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  logical_xor,
  leaky_relu,
  elu,
  // ternary: where(condition, if non-zero, else)
  where,
  // unary: rounded to that type, and still an f32
  f16,
  bf16,
  count_  // number of operators
};

/// What is known of every value that an expression may take. A missing fact is "unknown".
struct Facts {
  bool finite = false;       ///< neither infinite nor NaN
  bool no_nan = false;       ///< implied by finite
  bool nonnegative = false;  ///< >= 0 and not NaN
  bool nonzero = false;      ///< != 0 (NaN counts as non-zero)
  bool below_inf = false;    ///< < +inf and not NaN; implied by finite
  /// Every value that is a number lies in [least, largest]; -inf and inf: unknown. (Of NaN alone:
  /// inf and -inf, an empty range.)
  float least = -std::numeric_limits<float>::infinity();
  float largest = std::numeric_limits<float>::infinity();
  bool operator==(const Facts&) const = default;
};

/// An operand as the fill calculus sees it: a known constant (an absent entry), or any value that
/// satisfies the facts (a present one).
struct Operand {
  std::optional<float> constant;
  Facts facts;
};

struct OpInfo {
  std::string_view name;    ///< in the IR text, e.g. "relu"
  std::string_view symbol;  ///< infix symbol ("+", "*", ...) or empty
  int arity;
  int flops;  ///< arithmetic operations that one evaluation counts as (comparisons, selects, min
              ///< and max count 1)
};

const OpInfo& op_info(Op op);
std::optional<Op> find_op(std::string_view name);  ///< by name, not by symbol
std::vector<std::string> op_names();

/// One evaluation in f32, IEEE semantics as numpy/PyTorch have them (min/max propagate NaN).
float evaluate(Op op, std::span<const float> operands);

/// Vectorised evaluation over n elements: out[i] = op(a[i], b[i], ...). Operands may alias `out`.
/// A null stride (0) broadcasts the first element.
void evaluate_many(Op op, std::span<const float* const> operands, std::span<const int> strides,
                   float* out, int64_t n);

/// The constant that `op` gives for *every* admissible value of its operands, if there is one:
/// 0 * x = 0 for finite x; -inf - m = -inf for m < +inf; where(0, x, c) = c. NaN is a constant too.
std::optional<float> constant_result(Op op, std::span<const Operand> operands);

/// Facts of the result, from those of the operands.
Facts result_facts(Op op, std::span<const Operand> operands);
Facts facts_of_constant(float value);
/// Facts of an operand: those of its value where it is constant.
Facts known(const Operand& operand);
Facts both(const Facts& a, const Facts& b);    ///< what holds if either may occur (intersection)
Facts joined(const Facts& a, const Facts& b);  ///< what holds of a value of which both are known
/// The facts with everything that they imply: finite from a bounded range and no_nan, nonnegative
/// and nonzero from the range's ends, the range's ends from finite and nonnegative, ...
Facts closed(Facts facts);
/// The facts, their range narrowed to that of `range`.
Facts within(Facts facts, const Facts& range);
bool satisfies(float value, const Facts& facts);

/// Reductions. `sum` of no entries is 0, `max` -inf, `min` +inf, `mean` NaN, `prod` 1.
enum class Reduction : uint8_t { sum, max, min, mean, prod };
std::string_view reduction_name(Reduction reduction);
std::optional<Reduction> find_reduction(std::string_view name);
float identity(Reduction reduction);  ///< mean: 0 (a sum that is divided at the end)
/// One step of a reduction; max and min propagate NaN. mean adds.
float combine(Reduction reduction, float accumulated, float value);

}  // namespace fuseflow
