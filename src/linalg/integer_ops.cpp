// Formulas over the operators that there are.
#include "linalg/integer_ops.h"

#include <cmath>
#include <string_view>

namespace fuseflow {

namespace {

int width_of(ElementType type) {
  if (type == ElementType::boolean) return 1;
  return static_cast<int>(8 * element_bytes(type));
}

bool is_narrow(ElementType type) {
  return is_integer(type) && width_of(type) <= 16;
}

/// Types whose elements are never below 0.
bool has_no_sign(ElementType type) {
  return type == ElementType::boolean || type == ElementType::u8 || type == ElementType::u16;
}

int32_t power_of_two(Kernel& k, int exponent) {
  return k.constant(std::ldexp(1.0F, exponent));
}

/// An element of a signed type as the unsigned number with the same bits.
int32_t as_unsigned(Kernel& k, int32_t x, ElementType type, bool nonnegative) {
  if (nonnegative || has_no_sign(type)) return x;
  const int32_t larger = k.apply(Op::add, {x, power_of_two(k, width_of(type))});
  return k.apply(Op::where, {k.apply(Op::lt, {x, k.constant(0)}), larger, x});
}

/// The inverse.
int32_t as_signed(Kernel& k, int32_t x, ElementType type, bool nonnegative) {
  if (nonnegative || has_no_sign(type)) return x;
  const int32_t smaller = k.apply(Op::sub, {x, power_of_two(k, width_of(type))});
  const int32_t half = power_of_two(k, width_of(type) - 1);
  return k.apply(Op::where, {k.apply(Op::ge, {x, half}), smaller, x});
}

/// The last bits of a product. Those of 16 bits have products that f32 does not hold: the upper and
/// the lower byte of one are multiplied each.
int32_t wrapped_product(Kernel& k, int32_t a, int32_t b, ElementType type) {
  if (width_of(type) < 16) return wrapped_number(k, k.apply(Op::mul, {a, b}), type);
  const int32_t byte = power_of_two(k, 8);
  const int32_t upper = k.apply(Op::floor, {k.apply(Op::div, {a, byte})});
  const int32_t lower = k.apply(Op::mod, {a, byte});
  const int32_t of_upper = k.apply(Op::mod, {k.apply(Op::mul, {upper, b}), byte});
  const int32_t sum =
      k.apply(Op::add, {k.apply(Op::mul, {of_upper, byte}), k.apply(Op::mul, {lower, b})});
  return wrapped_number(k, sum, type);
}

/// Conversions. The sign of a truth value is its only bit: true is -1.
std::optional<int32_t> converted(Kernel& k, const std::string& op, int32_t x,
                                 const ScalarTypes& types) {
  if (op == "arith.extui" || op == "arith.uitofp" || op == "arith.index_castui")
    return as_unsigned(k, x, types.operand, types.nonnegative);
  if (op == "arith.extsi" || op == "arith.sitofp" || op == "arith.index_cast") {
    if (types.operand == ElementType::boolean)
      return k.apply(Op::where, {x, k.constant(-1), k.constant(0)});
    return op == "arith.index_cast" ? wrapped_number(k, x, types.result) : x;
  }
  if (op == "arith.trunci") return wrapped_number(k, x, types.result);
  if (op == "math.absi") return wrapped_number(k, k.apply(Op::abs, {x}), types.result);
  if (op == "arith.fptoui") return as_signed(k, towards_zero(k, x), types.result, false);
  return std::nullopt;
}

/// Quotients of unsigned numbers, and what is left.
std::optional<int32_t> unsigned_division(Kernel& k, const std::string& op, int32_t a, int32_t b,
                                         const ScalarTypes& types) {
  const bool remainder = op == "arith.remui";
  if (op != "arith.divui" && op != "arith.ceildivui" && !remainder) return std::nullopt;
  const int32_t left = as_unsigned(k, a, types.operand, types.nonnegative);
  const int32_t right = as_unsigned(k, b, types.operand, types.nonnegative);
  const int32_t quotient = k.apply(Op::div, {left, right});
  int32_t value = k.apply(op == "arith.ceildivui" ? Op::ceil : Op::floor, {quotient});
  if (remainder) value = k.apply(Op::sub, {left, k.apply(Op::mul, {value, right})});
  return as_signed(k, value, types.result, types.nonnegative);
}

std::optional<int32_t> shifted(Kernel& k, const std::string& op, int32_t a, int32_t b,
                               const ScalarTypes& types) {
  const auto power = [&] { return k.apply(Op::pow, {k.constant(2), b}); };
  if (op == "arith.shli") return wrapped_number(k, k.apply(Op::mul, {a, power()}), types.result);
  if (op == "arith.shrsi") return k.apply(Op::floor, {k.apply(Op::div, {a, power()})});
  if (op != "arith.shrui") return std::nullopt;
  const int32_t bits = as_unsigned(k, a, types.operand, types.nonnegative);
  const int32_t value = k.apply(Op::floor, {k.apply(Op::div, {bits, power()})});
  return as_signed(k, value, types.result, types.nonnegative);
}

/// Comparisons and extremes: of unsigned numbers, and of truth values as signed ones.
std::optional<int32_t> ordered(Kernel& k, const std::string& op, int32_t a, int32_t b,
                               const ScalarTypes& types) {
  const bool truth = types.operand == ElementType::boolean;
  const bool plain = truth || types.nonnegative || has_no_sign(types.operand);
  const auto less = [&](int32_t x, int32_t y) {
    return plain ? k.apply(Op::lt, {x, y}) : unsigned_less(k, x, y);
  };
  const auto no = [&](int32_t x) { return k.apply(Op::logical_not, {x}); };
  // -1 < 0: true is less than false.
  const bool reversed = truth && (op.ends_with("slt") || op.ends_with("sgt") ||
                                  op.ends_with("sle") || op.ends_with("sge"));
  const std::string_view relation = std::string_view(op).substr(op.size() - 2);
  if (op.starts_with("arith.cmpi u") || reversed) {
    if (reversed) std::swap(a, b);
    if (relation == "lt") return less(a, b);
    if (relation == "gt") return less(b, a);
    return relation == "le" ? no(less(b, a)) : no(less(a, b));
  }
  if (op == "arith.maxui" || (truth && op == "arith.minsi"))
    return k.apply(Op::where, {less(a, b), b, a});
  if (op == "arith.minui" || (truth && op == "arith.maxsi"))
    return k.apply(Op::where, {less(b, a), b, a});
  return std::nullopt;
}

}  // namespace

std::optional<int32_t> integer_op(Kernel& k, const std::string& op, const std::vector<int32_t>& x,
                                  const ScalarTypes& types) {
  if (x.size() == 1) return converted(k, op, x[0], types);
  if (x.size() != 2) return std::nullopt;
  const auto narrow = [&](Op same) {
    return wrapped_number(k, k.apply(same, {x[0], x[1]}), types.result);
  };
  if (is_narrow(types.result)) {
    if (op == "arith.addi") return narrow(Op::add);
    if (op == "arith.subi") return narrow(Op::sub);
    if (op == "arith.muli") return wrapped_product(k, x[0], x[1], types.result);
  }
  if (op == "math.ipowi") {  // 2 to the power of -1 is 0
    const int32_t power = k.apply(Op::pow, {x[0], x[1]});
    return wrapped_number(k, types.nonnegative ? power : towards_zero(k, power), types.result);
  }
  if (const auto value = unsigned_division(k, op, x[0], x[1], types)) return value;
  if (const auto value = shifted(k, op, x[0], x[1], types)) return value;
  return ordered(k, op, x[0], x[1], types);
}

int32_t wrapped_number(Kernel& k, int32_t x, ElementType type) {
  if (!is_narrow(type)) return x;
  const int32_t all = power_of_two(k, width_of(type));
  if (has_no_sign(type)) return k.apply(Op::mod, {x, all});
  const int32_t half = power_of_two(k, width_of(type) - 1);
  const int32_t from_zero = k.apply(Op::mod, {k.apply(Op::add, {x, half}), all});
  return k.apply(Op::sub, {from_zero, half});
}

int32_t towards_zero(Kernel& k, int32_t x) {
  const int32_t negative = k.apply(Op::lt, {x, k.constant(0)});
  return k.apply(Op::where, {negative, k.apply(Op::ceil, {x}), k.apply(Op::floor, {x})});
}

int32_t unsigned_less(Kernel& k, int32_t a, int32_t b) {
  const auto negative = [&](int32_t x) { return k.apply(Op::lt, {x, k.constant(0)}); };
  const int32_t other_sign = k.apply(Op::logical_xor, {negative(a), negative(b)});
  return k.apply(Op::logical_xor, {k.apply(Op::lt, {a, b}), other_sign});
}

int32_t by_sign(Kernel& k, Reduction reduction, int32_t x) {
  // As unsigned numbers those below 0 are larger than all others.
  const Op preferred = reduction == Reduction::max ? Op::lt : Op::ge;
  const int32_t none = k.constant(identity(reduction));
  return k.apply(Op::where, {k.apply(preferred, {x, k.constant(0)}), x, none});
}

}  // namespace fuseflow
