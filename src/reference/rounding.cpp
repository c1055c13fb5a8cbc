#include "reference/rounding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "ops/op_class.h"

namespace fuseflow::reference {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kRounding = 0x1p-24;  // of one operation in f32, relative

/// n roundings of random sign add up to no more than 8 sqrt(n), but for one case in 10^13 (Higham
/// and Mary, "A new approach to probabilistic rounding error analysis", 2019).
/// Equal terms are rounded alike as long as the sum has one exponent: of `different` ones, so many
/// groups have signs of their own.
double together(double roundings, double different = kInfinity) {
  const double groups = std::max(1.0, std::min(roundings, different));
  return std::min(roundings, 8 * roundings / std::sqrt(groups));
}

float distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : kInfinity;
  if (a == b) return 0;
  return std::isinf(a) || std::isinf(b) ? kInfinity : std::fabs(a - b);
}

/// Operators whose result is one of few values, or that of an operand: they do not round. f16 and
/// bf16 give the same to everybody.
bool rounds(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::min:
    case Op::max:
    case Op::where:
    case Op::f16:
    case Op::bf16:
      return false;
    default:
      return !has_steps(op);
  }
}

bool may_be_zero(float x, float r) {
  return r > 0 && std::fabs(x) <= r;
}

/// Whether operands within these ranges may give anything, however near their results are.
bool may_pass_pole(Op op, std::span<const float> x, std::span<const float> r) {
  switch (op) {
    case Op::reciprocal:
    case Op::rsqrt:
      return may_be_zero(x[0], r[0]);
    case Op::div:
    case Op::mod:
      return may_be_zero(x[1], r[1]);
    case Op::pow:  // powers of a negative number that are not whole are NaN
      return (may_be_zero(x[0], r[0]) && x[1] - r[1] < 0) || (x[0] - r[0] < 0 && r[1] > 0);
    default:
      return false;
  }
}

/// Where the operator turns or jumps in an operand; between two of these it is monotone in it.
/// NaN: nowhere.
float turn(Op op, size_t operand) {
  if (operand > 0 && op != Op::logical_and && op != Op::logical_or && op != Op::logical_xor) {
    return std::nanf("");
  }
  switch (op) {
    case Op::abs:
    case Op::pow:
    case Op::leaky_relu:
    case Op::elu:
    case Op::where:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return 0;
    case Op::gelu:
      return -0.75179152F;
    case Op::gelu_tanh:
      return -0.75246141F;
    case Op::silu:
      return -1.27846454F;
    case Op::hardswish:
      return -1.5F;
    default:
      return std::nanf("");
  }
}

/// Values of an operand that are enough to find how far the result moves.
struct Candidates {
  std::array<float, 4> values = {};
  size_t count = 0;
};

Candidates candidates_of(Op op, size_t operand, float x, float r) {
  if (r == 0) return {{x}, 1};
  if (!std::isfinite(r)) return {{-kInfinity, 0, kInfinity, std::nanf("")}, 4};
  const float at = turn(op, operand);
  return {{x - r, x + r, at}, std::fabs(x - at) < r ? 3U : 2U};
}

/// How far the farthest result of any of the candidates is.
float farthest_of(Op op, std::span<const float> x, std::span<const float> r, float result) {
  std::array<Candidates, 3> of;
  size_t all = 1;
  for (size_t c = 0; c < x.size(); ++c) {
    of[c] = candidates_of(op, c, x[c], r[c]);
    all *= of[c].count;
  }
  float farthest = 0;
  float values[3] = {};
  for (size_t n = 0; n < all; ++n) {
    size_t left = n;
    for (size_t c = 0; c < x.size(); ++c) {
      values[c] = of[c].values[left % of[c].count];
      left /= of[c].count;
    }
    farthest = std::max(farthest, distance(evaluate(op, {values, x.size()}), result));
  }
  return farthest;
}

/// Of operators that repeat themselves, whose ends say nothing of what is between them. Negative:
/// the operator is none of them, or does not jump within the range.
float farthest_of_periodic(Op op, std::span<const float> x, std::span<const float> r,
                           float result) {
  if (!std::isfinite(result)) return -1;
  if (op == Op::sin || op == Op::cos) return std::min(r[0], 1 + std::fabs(result));
  if (op != Op::mod) return -1;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double a : {-1.0, 1.0}) {
    for (const double b : {-1.0, 1.0}) {
      const double quotient = std::floor((x[0] + a * r[0]) / (x[1] + b * r[1]));
      least = std::min(least, quotient);
      most = std::max(most, quotient);
    }
  }
  return least < most ? std::fabs(x[1]) + r[1] : -1;
}

}  // namespace

bool has_steps(Op op) {
  switch (op) {
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return true;
    default:
      return is_boolean(op);
  }
}

bool rounds_correctly(Op op) {
  switch (op) {
    case Op::sqrt:
    case Op::reciprocal:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::leaky_relu:
      return true;
    default:
      return !rounds(op);
  }
}

Grid grid_of(std::span<const float> values) {
  Grid grid;
  int step = 128;  // above that of any number
  for (const float value : values) {
    if (value == 0) continue;
    const double size = std::fabs(static_cast<double>(value));
    if (!std::isfinite(size)) return {0, kInfinity};
    grid.largest = std::max(grid.largest, size);
    const auto bits = std::bit_cast<uint32_t>(value);
    const int exponent = static_cast<int>(bits >> 23 & 0xFFU);
    const uint32_t mantissa = (bits & 0x7FFFFFU) | (exponent > 0 ? 0x800000U : 0U);
    step = std::min(step, std::max(exponent, 1) - 150 + std::countr_zero(mantissa));
  }
  if (grid.largest > 0) grid.step = step;
  return grid;
}

bool order_is_free(std::span<const Grid> factors, double terms) {
  int step = 0;
  double most = std::max(terms, 1.0);
  for (const Grid& factor : factors) {
    if (factor.largest == 0) return true;
    step += factor.step;
    most *= factor.largest;
  }
  return most <= std::ldexp(1.0, 24 + step) && most < 0x1p127 && step >= -149;
}

float moved(Op op, std::span<const float> x, std::span<const float> r, float result, bool as_one) {
  if (std::all_of(r.begin(), r.end(), [](float bound) { return bound == 0; })) return 0;
  if (as_one && (is_boolean(op) || (op == Op::sub && result == 0))) return 0;
  if (op == Op::eq || op == Op::ne) {  // what is between the ends may be equal
    return distance(x[0], x[1]) <= r[0] + r[1] ? 1 : 0;
  }
  const bool anything =
      std::any_of(r.begin(), r.end(), [](float bound) { return !std::isfinite(bound); });
  if (anything && op != Op::where && !is_boolean(op)) return kInfinity;
  if (may_pass_pole(op, x, r)) return kInfinity;
  float farthest = farthest_of_periodic(op, x, r, result);
  if (farthest < 0) farthest = farthest_of(op, x, r, result);
  // Both sides round, the reference and what it is compared with; what is infinite does not.
  if (rounds(op) && std::isfinite(result))
    farthest += static_cast<float>(2 * kRounding) * std::fabs(result);
  return std::isnan(farthest) ? kInfinity : farthest;
}

float stored_bound(float value, float bound, ElementType type, bool either) {
  if (std::isinf(bound)) return bound;
  const float result = rounded(value, type);
  float farthest = 0;
  if (bound > 0) {
    farthest = std::max(distance(result, rounded(value - bound, type)),
                        distance(result, rounded(value + bound, type)));
    // All but 0 is one truth value.
    if (may_be_zero(value, bound)) {
      farthest = std::max(farthest, distance(result, rounded(0, type)));
    }
  }
  return either ? std::max(farthest, distance(result, value) + bound) : farthest;
}

Table mapped(const Table& table, Watch& watch, const std::function<float(float, float)>& f) {
  const auto values = watch.array(static_cast<int64_t>(table.values->size()));
  for (size_t i = 0; i < values->size(); ++i) {
    (*values)[i] = f((*table.values)[i], table.bounds ? (*table.bounds)[i] : 0.0F);
  }
  watch.tick(static_cast<int64_t>(values->size()));
  Table result = table;
  result.values = values;
  result.bounds = nullptr;
  result.fill = f(table.fill, table.fill_bound);
  result.fill_bound = 0;
  result.tensor = -1;
  return result;
}

namespace {

/// f of the values of tables of one layout, and of their fills.
Table combined(const std::vector<const Table*>& tables, Watch& watch,
               const std::function<float(std::span<const float>)>& f) {
  std::vector<float> x(tables.size());
  const auto values = watch.array(static_cast<int64_t>(tables.front()->values->size()));
  for (size_t i = 0; i < values->size(); ++i) {
    for (size_t t = 0; t < tables.size(); ++t) x[t] = (*tables[t]->values)[i];
    (*values)[i] = f(x);
  }
  for (size_t t = 0; t < tables.size(); ++t) x[t] = tables[t]->fill;
  Table result = *tables.front();
  result.values = values;
  result.fill = f(x);
  return result;
}

/// How many different values a table has, but for 0. Infinite: more than matter.
double different_values(const Table& table) {
  constexpr size_t kMost = 4096;
  std::unordered_set<float> values;
  if (table.present && table.fill != 0) values.insert(table.fill);
  for (const float value : *table.values) {
    if (value != 0) values.insert(value);
    if (values.size() > kMost) return kInfinity;
  }
  return std::max(1.0, static_cast<double>(values.size()));
}

/// Up to which f32 has every whole number.
constexpr double kWhole = 0x1p24;

/// By which sums are made small, so that they do not overflow.
constexpr double kSmall = 0x1p-40;

/// Whether a sum of finite terms is infinite in whatever order it is rounded: terms of one sign,
/// clearly beyond the largest number. `total` and `sizes` are the sums of the terms and of their
/// magnitudes, made small.
bool overflows_in_any_order(float total, float sizes) {
  constexpr double kBeyond = 1.01 * kSmall * std::numeric_limits<float>::max();
  return std::fabs(total) == sizes && sizes > kBeyond;
}

}  // namespace

Table sum_bounds(const Table& result, const std::vector<Table>& factors, Watch& watch,
                 const SumOf& sum_of) {
  const auto sum = [&](const std::function<float(float, float)>& f, double by = 1) {
    std::vector<Table> others;
    others.reserve(factors.size());
    for (const Table& factor : factors) {
      others.push_back(mapped(factor, watch, [&](float v, float r) {
        return static_cast<float>((others.empty() ? by : 1) * f(v, r));
      }));
    }
    return sum_of(others);
  };
  const bool exact =
      std::all_of(factors.begin(), factors.end(), [](const Table& t) { return t.exact(); });
  // Terms, and those of them whose factors are whole numbers that do not move.
  const Table terms = sum([](float v, float r) { return v != 0 || r != 0 ? 1.0F : 0.0F; });
  const Table whole = sum(
      [](float v, float r) { return v != 0 && r == 0 && std::nearbyint(v) == v ? 1.0F : 0.0F; });
  const Table least = sum([](float v, float) { return std::fabs(v); });
  const Table most = exact ? least : sum([](float v, float r) { return std::fabs(v) + r; });
  // Terms that stay infinite, or NaN, if they are: nothing of them moves. What is added to others
  // may also move as long as it is finite.
  const bool alone = factors.size() == 1;
  const Table still = exact ? terms : sum([=](float v, float r) {
    const bool moves = r != 0 && !(alone && std::isfinite(v) && std::isfinite(r));
    return v != 0 && !moves ? 1.0F : 0.0F;
  });
  // No partial sum or product of finite terms exceeds `partial`, whatever the order. The other two
  // are small enough not to overflow themselves.
  const Table partial = sum([=](float v, float r) {
    return alone ? std::fabs(v) + r : std::max(std::fabs(v) + r, 1.0F);
  });
  const Table total = sum([](float v, float) { return v; }, kSmall);
  const Table sizes = sum([](float v, float) { return std::fabs(v); }, kSmall);
  const double products = static_cast<double>(factors.size()) - 1;
  const double others = exact ? 0 : 3;
  double different = 1;
  for (const Table& factor : factors) different *= different_values(factor);
  const std::vector<const Table*> tables = {&result,  &terms, &least, &most, &still,
                                            &partial, &total, &sizes, &whole};
  return combined(tables, watch, [&](std::span<const float> x) {
    const double n = x[1], low = x[2], high = x[3];
    if (n == 0) return 0.0F;
    if (!std::isfinite(x[0])) {
      if (std::isfinite(x[7])) return exact && overflows_in_any_order(x[6], x[7]) ? 0 : kInfinity;
      return x[4] == x[1] ? 0.0F : kInfinity;
    }
    if (!std::isfinite(x[5])) return kInfinity;
    if (x[8] == x[1] && x[3] <= kWhole) return 0.0F;
    const double roundings = others + (n > 1 ? n - 1 + products : std::max(products - 1, 0.0));
    const double rounding = 2 * together(roundings, different) * kRounding;
    const double bound = (exact ? 0 : high - low) + rounding * high;
    return std::isnan(bound) ? kInfinity : static_cast<float>(std::max(bound, 0.0));
  });
}

Table fold_bounds(Reduction reduction, const Table& result, const Table& body, double terms,
                  Watch& watch, const std::function<Table(const Table&)>& fold_of) {
  if (reduction == Reduction::prod) {
    const Table low = fold_of(mapped(body, watch, [](float v, float) { return std::fabs(v); }));
    const Table high =
        fold_of(mapped(body, watch, [](float v, float r) { return std::fabs(v) + r; }));
    const double rounding = 2 * together(std::max(terms - 1, 0.0)) * kRounding;
    return combined({&low, &high}, watch, [&](std::span<const float> x) {
      const float bound = x[1] - x[0] + static_cast<float>(rounding) * x[1];
      return std::isnan(bound) ? kInfinity : bound;
    });
  }
  const Table low = fold_of(mapped(body, watch, [](float v, float r) { return v - r; }));
  const Table high = fold_of(mapped(body, watch, [](float v, float r) { return v + r; }));
  return combined({&result, &low, &high}, watch, [](std::span<const float> x) {
    return std::max(distance(x[0], x[1]), distance(x[0], x[2]));
  });
}

}  // namespace fuseflow::reference
