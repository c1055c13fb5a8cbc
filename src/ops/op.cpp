#include "ops/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/scalar.h"

namespace fuseflow {

namespace {

constexpr std::array<OpInfo, static_cast<size_t>(Op::count_)> kOps = {{
    {"neg", "", 1, 1},        {"abs", "", 1, 1},        {"sign", "", 1, 1},
    {"exp", "", 1, 1},        {"log", "", 1, 1},        {"sqrt", "", 1, 1},
    {"rsqrt", "", 1, 2},      {"reciprocal", "", 1, 1}, {"relu", "", 1, 1},
    {"sigmoid", "", 1, 4},    {"tanh", "", 1, 1},       {"erf", "", 1, 1},
    {"softplus", "", 1, 3},   {"gelu", "", 1, 5},       {"gelu_tanh", "", 1, 9},
    {"silu", "", 1, 5},       {"hardswish", "", 1, 5},  {"floor", "", 1, 1},
    {"ceil", "", 1, 1},       {"round", "", 1, 1},      {"not", "", 1, 1},
    {"isnan", "", 1, 1},      {"isinf", "", 1, 1},      {"sin", "", 1, 1},
    {"cos", "", 1, 1},        {"add", "+", 2, 1},       {"sub", "-", 2, 1},
    {"mul", "*", 2, 1},       {"div", "/", 2, 1},       {"pow", "", 2, 1},
    {"min", "", 2, 1},        {"max", "", 2, 1},        {"mod", "", 2, 1},
    {"eq", "==", 2, 1},       {"ne", "!=", 2, 1},       {"lt", "<", 2, 1},
    {"le", "<=", 2, 1},       {"gt", ">", 2, 1},        {"ge", ">=", 2, 1},
    {"and", "", 2, 1},        {"or", "", 2, 1},         {"xor", "", 2, 1},
    {"leaky_relu", "", 2, 2}, {"elu", "", 2, 3},        {"where", "", 3, 1},
    {"f16", "", 1, 1},        {"bf16", "", 1, 1},
}};

/// Calls `f` with the scalar function of `op` as a type, so that loops over it are compiled once
/// per operator.
template <class F>
void with_scalar(Op op, F&& f) {
  switch (op) {
#define FUSEFLOW_CASE(name) \
  case Op::name:            \
    return f(scalar::name{});
    FUSEFLOW_FOR_EACH_OP(FUSEFLOW_CASE)
#undef FUSEFLOW_CASE
    case Op::count_:
      break;
  }
}

template <class Scalar>
float call(Scalar function, std::span<const float> x) {
  if constexpr (Scalar::kArity == 1) return function(x[0]);
  if constexpr (Scalar::kArity == 2) return function(x[0], x[1]);
  if constexpr (Scalar::kArity == 3) return function(x[0], x[1], x[2]);
}

template <class Scalar>
void loop(Scalar function, std::span<const float* const> x, std::span<const int> stride, float* out,
          int64_t n) {
  if constexpr (Scalar::kArity == 1) {
    const float* a = x[0];
    const int64_t sa = stride[0];
    for (int64_t i = 0; i < n; ++i) out[i] = function(a[i * sa]);
  } else if constexpr (Scalar::kArity == 2) {
    const float* a = x[0];
    const float* b = x[1];
    if (stride[0] == 1 && stride[1] == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = function(a[i], b[i]);
    } else if (stride[0] == 1) {
      const float c = b[0];
      for (int64_t i = 0; i < n; ++i) out[i] = function(a[i], c);
    } else if (stride[1] == 1) {
      const float c = a[0];
      for (int64_t i = 0; i < n; ++i) out[i] = function(c, b[i]);
    } else {
      std::fill(out, out + n, function(a[0], b[0]));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = function(x[0][i * stride[0]], x[1][i * stride[1]], x[2][i * stride[2]]);
    }
  }
}

}  // namespace

const OpInfo& op_info(Op op) {
  return kOps[static_cast<size_t>(op)];
}

std::optional<Op> find_op(std::string_view name) {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].name == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kOps));
  for (const OpInfo& info : kOps) names.emplace_back(info.name);
  return names;
}

float evaluate(Op op, std::span<const float> operands) {
  float result = 0;
  with_scalar(op, [&](auto function) { result = call(function, operands); });
  return result;
}

void evaluate_many(Op op, std::span<const float* const> operands, std::span<const int> strides,
                   float* out, int64_t n) {
  with_scalar(op, [&](auto function) { loop(function, operands, strides, out, n); });
}

std::string_view reduction_name(Reduction reduction) {
  constexpr std::array<std::string_view, 5> kNames = {"sum", "max", "min", "mean", "prod"};
  return kNames[static_cast<size_t>(reduction)];
}

std::optional<Reduction> find_reduction(std::string_view name) {
  for (Reduction r :
       {Reduction::sum, Reduction::max, Reduction::min, Reduction::mean, Reduction::prod}) {
    if (reduction_name(r) == name) return r;
  }
  return std::nullopt;
}

float identity(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
      return -std::numeric_limits<float>::infinity();
    case Reduction::min:
      return std::numeric_limits<float>::infinity();
    case Reduction::prod:
      return 1;
    case Reduction::sum:
    case Reduction::mean:
      return 0;
  }
  return 0;
}

float combine(Reduction reduction, float accumulated, float value) {
  switch (reduction) {
    case Reduction::max:
      return scalar::max{}(accumulated, value);
    case Reduction::min:
      return scalar::min{}(accumulated, value);
    case Reduction::prod:
      return accumulated * value;
    case Reduction::sum:
    case Reduction::mean:
      return accumulated + value;
  }
  return value;
}

}  // namespace fuseflow
