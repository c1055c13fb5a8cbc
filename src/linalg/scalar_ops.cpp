// The table of scalar operations, and those that take several of ours.
#include "linalg/scalar_ops.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <string_view>

namespace fuseflow {

namespace {

struct Row {
  std::string_view name;
  Op op;
};

constexpr auto kSame = std::to_array<Row>({
    {"arith.addf", Op::add},         {"arith.addi", Op::add},       {"arith.subf", Op::sub},
    {"arith.subi", Op::sub},         {"arith.mulf", Op::mul},       {"arith.muli", Op::mul},
    {"arith.divf", Op::div},         {"arith.negf", Op::neg},       {"arith.maximumf", Op::max},
    {"arith.maxsi", Op::max},        {"arith.minimumf", Op::min},   {"arith.minsi", Op::min},
    {"arith.andi", Op::logical_and}, {"arith.ori", Op::logical_or}, {"arith.xori", Op::logical_xor},
    {"arith.cmpf ogt", Op::gt},      {"arith.cmpf oge", Op::ge},    {"arith.cmpf olt", Op::lt},
    {"arith.cmpf ole", Op::le},      {"arith.cmpf oeq", Op::eq},    {"arith.cmpf une", Op::ne},
    {"arith.cmpi eq", Op::eq},       {"arith.cmpi ne", Op::ne},     {"arith.cmpi sgt", Op::gt},
    {"arith.cmpi sge", Op::ge},      {"arith.cmpi slt", Op::lt},    {"arith.cmpi sle", Op::le},
    {"arith.select", Op::where},     {"math.exp", Op::exp},         {"math.log", Op::log},
    {"math.sqrt", Op::sqrt},         {"math.rsqrt", Op::rsqrt},     {"math.tanh", Op::tanh},
    {"math.erf", Op::erf},           {"math.sin", Op::sin},         {"math.cos", Op::cos},
    {"math.absf", Op::abs},          {"math.floor", Op::floor},     {"math.ceil", Op::ceil},
    {"math.roundeven", Op::round},   {"math.powf", Op::pow},        {"math.fpowi", Op::pow},
});

constexpr auto kConversions = std::to_array<std::string_view>({
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.index_cast",
    "arith.index_castui",
});

/// Comparisons that NaN satisfies: the opposite of those that it does not.
constexpr auto kUnordered = std::to_array<Row>({
    {"arith.cmpf ugt", Op::le},
    {"arith.cmpf uge", Op::lt},
    {"arith.cmpf ult", Op::ge},
    {"arith.cmpf ule", Op::gt},
});

template <size_t N>
std::optional<Op> find_row(const std::array<Row, N>& rows, std::string_view name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) return std::nullopt;
  return found->op;
}

/// Whole-number quotients and what is left of them, of signed numbers.
std::optional<int32_t> integer_division(Kernel& k, const std::string& op,
                                        const std::vector<int32_t>& x) {
  if (x.size() != 2) return std::nullopt;
  const auto quotient = [&] { return k.apply(Op::div, {x[0], x[1]}); };
  if (op == "arith.divsi") return towards_zero(k, quotient());
  if (op == "arith.floordivsi") return k.apply(Op::floor, {quotient()});
  if (op == "arith.ceildivsi") return k.apply(Op::ceil, {quotient()});
  if (op == "arith.remsi") {
    const int32_t whole = towards_zero(k, quotient());
    return k.apply(Op::sub, {x[0], k.apply(Op::mul, {whole, x[1]})});
  }
  return std::nullopt;
}

std::optional<int32_t> comparison(Kernel& k, const std::string& op, const std::vector<int32_t>& x) {
  if (x.size() != 2) return std::nullopt;
  const auto opposite = find_row(kUnordered, op);
  if (opposite) return k.apply(Op::logical_not, {k.apply(*opposite, {x[0], x[1]})});
  const auto differ = [&] {
    return k.apply(Op::logical_or, {k.apply(Op::lt, {x[0], x[1]}), k.apply(Op::gt, {x[0], x[1]})});
  };
  if (op == "arith.cmpf one") return differ();
  if (op == "arith.cmpf ueq") return k.apply(Op::logical_not, {differ()});
  const auto any_nan = [&] {
    return k.apply(Op::logical_or, {k.apply(Op::isnan, {x[0]}), k.apply(Op::isnan, {x[1]})});
  };
  if (op == "arith.cmpf uno") return any_nan();
  if (op == "arith.cmpf ord") return k.apply(Op::logical_not, {any_nan()});
  if (op == "arith.cmpf true") return k.constant(1);
  if (op == "arith.cmpf false") return k.constant(0);
  return std::nullopt;
}

/// The larger (smaller) of two numbers; of NaN and a number, the number.
int32_t number_first(Kernel& k, Op comparison, int32_t a, int32_t b) {
  const int32_t first =
      k.apply(Op::logical_or, {k.apply(comparison, {a, b}), k.apply(Op::isnan, {b})});
  return k.apply(Op::where, {first, a, b});
}

/// 1 where the sign bit of a number is set: -0 is below no number, but 1 / -0 is. (Not of NaN.)
int32_t sign_bit(Kernel& k, int32_t x) {
  const int32_t zero = k.constant(0);
  const int32_t inverse = k.apply(Op::div, {k.constant(1), x});
  return k.apply(Op::logical_or, {k.apply(Op::lt, {x, zero}), k.apply(Op::lt, {inverse, zero})});
}

/// With u = exp(|x|) - 1 it is (u + u / (u + 1)) / 2. What a small x loses in u is made up for:
/// with e = exp(|x|), u = (e - 1) * |x| / log(e).
int32_t hyperbolic_sine(Kernel& k, int32_t x) {
  const int32_t one = k.constant(1);
  const int32_t size = k.apply(Op::abs, {x});
  const int32_t power = k.apply(Op::exp, {size});
  const int32_t less = k.apply(Op::sub, {power, one});
  const int32_t ratio = k.apply(Op::div, {size, k.apply(Op::log, {power})});
  const int32_t exact =
      k.apply(Op::where, {k.apply(Op::eq, {power, one}), size, k.apply(Op::mul, {less, ratio})});
  const int32_t small = k.apply(Op::lt, {size, one});
  const int32_t u = k.apply(Op::where, {small, exact, less});
  const int32_t inverse = k.apply(Op::add, {one, k.apply(Op::div, {one, u})});
  const int32_t twice = k.apply(Op::add, {u, k.apply(Op::div, {one, inverse})});
  return k.apply(Op::mul, {k.apply(Op::sign, {x}), k.apply(Op::mul, {k.constant(0.5F), twice})});
}

/// To the nearest whole number, halves away from zero.
int32_t halves_away(Kernel& k, int32_t x) {
  const int32_t size = k.apply(Op::abs, {x});
  const int32_t whole = k.apply(Op::floor, {size});
  const int32_t up = k.apply(Op::ge, {k.apply(Op::sub, {size, whole}), k.constant(0.5F)});
  return k.apply(Op::mul, {k.apply(Op::sign, {x}), k.apply(Op::add, {whole, up})});
}

std::optional<int32_t> several(Kernel& k, const std::string& op, const std::vector<int32_t>& x) {
  constexpr float kLn2 = std::numbers::ln2_v<float>;
  if (op == "arith.maxnumf") return number_first(k, Op::ge, x[0], x[1]);
  if (op == "arith.minnumf") return number_first(k, Op::le, x[0], x[1]);
  if (op == "arith.remf") {  // with the sign of x[0]
    const int32_t rest = k.apply(Op::mod, {k.apply(Op::abs, {x[0]}), k.apply(Op::abs, {x[1]})});
    const int32_t negative = k.apply(Op::lt, {x[0], k.constant(0)});
    return k.apply(Op::where, {negative, k.apply(Op::neg, {rest}), rest});
  }
  if (op == "math.fma") return k.apply(Op::add, {k.apply(Op::mul, {x[0], x[1]}), x[2]});
  // As LLVM has these two: of a small x the sum, or the power, keeps few digits.
  if (op == "math.log1p") return k.apply(Op::log, {k.apply(Op::add, {k.constant(1), x[0]})});
  if (op == "math.expm1") return k.apply(Op::sub, {k.apply(Op::exp, {x[0]}), k.constant(1)});
  if (op == "math.exp2") return k.apply(Op::exp, {k.apply(Op::mul, {x[0], k.constant(kLn2)})});
  if (op == "math.log2") return k.apply(Op::div, {k.apply(Op::log, {x[0]}), k.constant(kLn2)});
  if (op == "math.log10") {
    const float ln10 = std::numbers::ln10_v<float>;
    return k.apply(Op::div, {k.apply(Op::log, {x[0]}), k.constant(ln10)});
  }
  if (op == "math.tan")
    return k.apply(Op::div, {k.apply(Op::sin, {x[0]}), k.apply(Op::cos, {x[0]})});
  if (op == "math.trunc" || op == "arith.fptosi") return towards_zero(k, x[0]);
  if (op == "math.round") return halves_away(k, x[0]);
  if (op == "math.copysign") {
    const int32_t size = k.apply(Op::abs, {x[0]});
    return k.apply(Op::where, {sign_bit(k, x[1]), k.apply(Op::neg, {size}), size});
  }
  if (op == "math.cbrt") {
    const int32_t size = k.apply(Op::pow, {k.apply(Op::abs, {x[0]}), k.constant(1.0F / 3)});
    return k.apply(Op::mul, {k.apply(Op::sign, {x[0]}), size});
  }
  if (op == "math.sinh") return hyperbolic_sine(k, x[0]);
  if (op == "math.cosh") {
    const int32_t up = k.apply(Op::exp, {x[0]});
    const int32_t down = k.apply(Op::exp, {k.apply(Op::neg, {x[0]})});
    return k.apply(Op::mul, {k.constant(0.5F), k.apply(Op::add, {up, down})});
  }
  if (op == "math.isnan") return k.apply(Op::isnan, {x[0]});
  if (op == "math.isinf") return k.apply(Op::isinf, {x[0]});
  return std::nullopt;
}

}  // namespace

bool is_conversion(const std::string& op) {
  return std::find(kConversions.begin(), kConversions.end(), op) != kConversions.end();
}

bool keeps_order(const std::string& conversion, ElementType from, ElementType to) {
  if (conversion == "arith.extf" || conversion == "arith.truncf") return true;
  if (from == ElementType::boolean) return conversion == "arith.extui";  // true is -1 as signed
  const bool narrower = is_integer(to) && element_bytes(to) < element_bytes(from);
  return !narrower && (conversion == "arith.extsi" || conversion == "arith.index_cast" ||
                       conversion == "arith.sitofp");
}

std::optional<int32_t> scalar_op(Kernel& kernel, const std::string& op,
                                 const std::vector<int32_t>& x, const ScalarTypes& types) {
  if (x.empty()) return std::nullopt;
  if (op == "arith.truncf" && types.result == ElementType::f16)
    return kernel.apply(Op::f16, {x[0]});
  if (op == "arith.truncf" && types.result == ElementType::bf16)
    return kernel.apply(Op::bf16, {x[0]});
  if (const auto whole = integer_op(kernel, op, x, types)) return whole;
  if (is_conversion(op)) return x[0];
  const auto same = find_row(kSame, op);
  if (same) {
    // Bits of wider integers are no truth values.
    const bool logical =
        *same == Op::logical_and || *same == Op::logical_or || *same == Op::logical_xor;
    const bool bits = is_integer(types.result) && types.result != ElementType::boolean;
    if ((logical && bits) || op_info(*same).arity != static_cast<int>(x.size()))
      return std::nullopt;
    return kernel.apply(*same, x);
  }
  if (const auto divided = integer_division(kernel, op, x)) return divided;
  if (const auto compared = comparison(kernel, op, x)) return compared;
  return several(kernel, op, x);
}

std::optional<Combination> combining(const std::string& op, ElementType type) {
  const bool truth = type == ElementType::boolean;
  const auto of = [](Reduction reduction) { return Combination{reduction, false}; };
  if (op == "arith.addf" || op == "arith.addi") return of(Reduction::sum);
  if (op == "arith.mulf" || op == "arith.muli") return of(Reduction::prod);
  if (truth && (op == "arith.maxui" || op == "arith.minsi")) return of(Reduction::max);
  if (truth && (op == "arith.minui" || op == "arith.maxsi")) return of(Reduction::min);
  if (op == "arith.maximumf" || op == "arith.maxsi") return of(Reduction::max);
  if (op == "arith.minimumf" || op == "arith.minsi") return of(Reduction::min);
  if (op == "arith.maxnumf") return Combination{Reduction::max, false, true};
  if (op == "arith.minnumf") return Combination{Reduction::min, false, true};
  if (op == "arith.maxui") return Combination{Reduction::max, true};
  if (op == "arith.minui") return Combination{Reduction::min, true};
  if (op == "arith.ori" && truth) return of(Reduction::max);
  if (op == "arith.andi" && truth) return of(Reduction::min);
  if (op == "arith.xori" && truth) return of(Reduction::sum);  // of which the last bit is kept
  return std::nullopt;
}

std::optional<Combination> selecting(const std::string& comparison, ElementType type) {
  const std::string_view predicate = std::string_view(comparison).substr(comparison.size() - 3);
  const std::string_view way = predicate.substr(1);
  const bool greater = way == "gt" || way == "ge";
  if (!greater && way != "lt" && way != "le") return std::nullopt;
  Combination how{greater ? Reduction::max : Reduction::min};
  if (comparison.starts_with("arith.cmpf ")) return how;
  if (!comparison.starts_with("arith.cmpi ")) return std::nullopt;
  const bool truth = type == ElementType::boolean;
  how.of_unsigned = predicate[0] == 'u' && !truth;
  if (truth && predicate[0] == 's')  // true is -1
    how.reduction = greater ? Reduction::min : Reduction::max;
  return how;
}

bool holds_of_nan(const std::string& comparison) {
  return comparison.starts_with("arith.cmpf u");
}

bool is_unordered_greater(const std::string& comparison) {
  return comparison == "arith.cmpf ugt" || comparison == "arith.cmpf uge";
}

}  // namespace fuseflow
