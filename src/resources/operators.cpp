#include "resources/operators.h"

namespace fuseflow {
namespace {

struct Counts {
  int add = 0, compare = 0, mul = 0, div = 0, sqrt = 0, special = 0;
};

Counts counts_of(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::f16:
    case Op::bf16:
      return {.add = 1};
    case Op::mul:
      return {.mul = 1};
    case Op::div:
    case Op::mod:
    case Op::reciprocal:
      return {.div = 1};
    case Op::sqrt:
      return {.sqrt = 1};
    case Op::rsqrt:
      return {.div = 1, .sqrt = 1};
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::erf:
    case Op::sin:
    case Op::cos:
    case Op::pow:
      return {.special = 1};
    case Op::sigmoid:  // 1 / (1 + exp(-x))
      return {.add = 1, .compare = 1, .div = 1, .special = 1};
    case Op::silu:  // x sigmoid(x)
      return {.add = 1, .compare = 1, .mul = 1, .div = 1, .special = 1};
    case Op::softplus:  // log(1 + exp(x))
      return {.add = 1, .special = 2};
    case Op::gelu:  // x / 2 (1 + erf(x / sqrt(2)))
      return {.add = 1, .mul = 3, .special = 1};
    case Op::gelu_tanh:  // x / 2 (1 + tanh(a (x + b x x x)))
      return {.add = 2, .mul = 6, .special = 1};
    case Op::hardswish:  // x min(max(x + 3, 0), 6) / 6
      return {.add = 1, .compare = 2, .mul = 2};
    case Op::leaky_relu:
      return {.compare = 1, .mul = 1};
    case Op::elu:  // alpha (exp(x) - 1)
      return {.add = 1, .mul = 1, .special = 1};
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::relu:
    case Op::logical_not:
    case Op::isnan:
    case Op::isinf:
    case Op::min:
    case Op::max:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::where:
      return {.compare = 1};
    case Op::count_:
      break;
  }
  return {};
}

}  // namespace

Parts parts_of(Op op) {
  const Counts c = counts_of(op);
  return {c.add, c.compare, c.mul, c.div, c.sqrt, c.special};
}

std::optional<OperatorClass> operator_class(Op op) {
  const Counts c = counts_of(op);
  if (c.special > 0) return OperatorClass::exponential;
  if (c.sqrt > 0) return OperatorClass::root;
  if (c.div > 0) return OperatorClass::divide;
  return std::nullopt;
}

Arithmetic arithmetic_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
    case Reduction::min:
      return Arithmetic::compare;
    case Reduction::prod:
      return Arithmetic::mul;
    case Reduction::sum:
    case Reduction::mean:
      break;
  }
  return Arithmetic::add;
}

}  // namespace fuseflow
