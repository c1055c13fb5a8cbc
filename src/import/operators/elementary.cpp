// Functions of one or two operands that the language has no operator for: activations, and the
// elementary functions as formulas in f32.
#include <array>
#include <cmath>
#include <numbers>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// Expressions over one kernel, written as they are read. A value may be used several times.
struct Formula {
  Kernel& k;
  int32_t number(double v) const { return k.constant(static_cast<float>(v)); }
  int32_t add(int32_t a, int32_t b) const { return k.apply(Op::add, {a, b}); }
  int32_t sub(int32_t a, int32_t b) const { return k.apply(Op::sub, {a, b}); }
  int32_t mul(int32_t a, int32_t b) const { return k.apply(Op::mul, {a, b}); }
  int32_t div(int32_t a, int32_t b) const { return k.apply(Op::div, {a, b}); }
  int32_t of(Op op, int32_t a) const { return k.apply(op, {a}); }
  int32_t select(Op op, int32_t a, double bound, int32_t yes, int32_t no) const {
    return k.apply(Op::where, {k.apply(op, {a, number(bound)}), yes, no});
  }
  /// c[0] + c[1] * z + c[2] * z^2 + ...
  template <size_t N>
  int32_t polynomial(int32_t z, const std::array<double, N>& c) const {
    int32_t sum = number(c[N - 1]);
    for (size_t n = N - 1; n-- > 0;) sum = add(number(c[n]), mul(z, sum));
    return sum;
  }
};

/// The node's result is a formula of `x`.
template <typename Make>
View formula_of(const NodeImport& node, const View& x, const Make& make) {
  Kernel k = node.kernel();
  const int at = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(at);
  const int32_t root = make(Formula{k}, value);
  return k.result(all_labels(x.rank()), root, x.type);
}

template <int32_t (*formula)(const NodeImport&, const Formula&, int32_t)>
void one_formula(NodeImport& node) {
  node.define(0, formula_of(node, node.input(0),
                            [&](const Formula& f, int32_t x) { return formula(node, f, x); }));
}

/// x, or alpha * (exp(x / alpha) - 1) below 0.
int32_t celu(const NodeImport& node, const Formula& f, int32_t x) {
  const float alpha = node.real("alpha", 1);
  const int32_t grown = f.of(Op::exp, f.div(x, f.number(alpha)));
  return f.select(Op::gt, x, 0, x, f.mul(f.number(alpha), f.sub(grown, f.number(1))));
}

/// x * tanh(softplus(x))
int32_t mish(const NodeImport&, const Formula& f, int32_t x) {
  return f.mul(x, f.of(Op::tanh, f.of(Op::softplus, x)));
}

/// x * sigmoid(alpha * x)
int32_t swish_of(const Formula& f, int32_t x, float alpha) {
  if (alpha == 1) return f.of(Op::silu, x);
  return f.mul(x, f.of(Op::sigmoid, f.mul(f.number(alpha), x)));
}

int32_t swish(const NodeImport& node, const Formula& f, int32_t x) {
  return swish_of(f, x, node.real("alpha", 1));
}

int32_t quick_gelu(const NodeImport& node, const Formula& f, int32_t x) {
  return swish_of(f, x, node.real("alpha", 1.702F));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
int32_t shrink(const NodeImport& node, const Formula& f, int32_t x) {
  const float bias = node.real("bias", 0);
  const float lambd = node.real("lambd", 0.5F);
  const int32_t above = f.select(Op::gt, x, lambd, f.sub(x, f.number(bias)), f.number(0));
  return f.select(Op::lt, x, -lambd, f.add(x, f.number(bias)), above);
}

int32_t tangent(const NodeImport&, const Formula& f, int32_t x) {
  return f.div(f.of(Op::sin, x), f.of(Op::cos, x));
}

/// e^x / 2 of x and -x, each as the square of e^(x/2): it has no infinity before its time.
std::pair<int32_t, int32_t> half_powers(const Formula& f, int32_t x) {
  const int32_t half = f.mul(f.number(0.5), x);
  const auto squared = [&](int32_t root) { return f.mul(f.mul(f.number(0.5), root), root); };
  return {squared(f.of(Op::exp, half)), squared(f.of(Op::exp, f.of(Op::neg, half)))};
}

/// (e^x - e^-x) / 2; near 0, where that cancels, its series.
int32_t hyperbolic_sine(const NodeImport&, const Formula& f, int32_t x) {
  const int32_t series =
      f.mul(x, f.polynomial(f.mul(x, x), std::array{1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040}));
  const auto [up, down] = half_powers(f, x);
  return f.select(Op::lt, f.of(Op::abs, x), 0.5, series, f.sub(up, down));
}

int32_t hyperbolic_cosine(const NodeImport&, const Formula& f, int32_t x) {
  const auto [up, down] = half_powers(f, x);
  return f.add(up, down);
}

/// log(root), or log(2 x) of an x so large that it is the same and root's square may be infinite.
int32_t log_of_root(const Formula& f, int32_t x, int32_t root) {
  const int32_t doubled = f.add(f.of(Op::log, x), f.number(std::numbers::ln2));
  return f.select(Op::gt, x, 1e9, doubled, f.of(Op::log, root));
}

/// log(|x| + sqrt(x^2 + 1)) with the sign of x; near 0 its series.
int32_t inverse_hyperbolic_sine(const NodeImport&, const Formula& f, int32_t x) {
  const int32_t size = f.of(Op::abs, x);
  const int32_t square = f.mul(x, x);
  const int32_t series = f.mul(
      x, f.polynomial(square, std::array{1.0, -1.0 / 6, 3.0 / 40, -15.0 / 336, 105.0 / 3456}));
  const int32_t root = f.of(Op::sqrt, f.add(square, f.number(1)));
  const int32_t log = f.mul(f.of(Op::sign, x), log_of_root(f, size, f.add(size, root)));
  return f.select(Op::lt, size, 0.25, series, log);
}

/// log(x + sqrt(x - 1) sqrt(x + 1)): below 1 no number, where a square of large ones would be
/// infinite.
int32_t inverse_hyperbolic_cosine(const NodeImport&, const Formula& f, int32_t x) {
  const int32_t root =
      f.mul(f.of(Op::sqrt, f.sub(x, f.number(1))), f.of(Op::sqrt, f.add(x, f.number(1))));
  return log_of_root(f, x, f.add(x, root));
}

/// log((1 + x) / (1 - x)) / 2; near 0 its series.
int32_t inverse_hyperbolic_tangent(const NodeImport&, const Formula& f, int32_t x) {
  const int32_t series =
      f.mul(x, f.polynomial(f.mul(x, x), std::array{1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9}));
  const int32_t ratio = f.div(f.add(f.number(1), x), f.sub(f.number(1), x));
  return f.select(Op::lt, f.of(Op::abs, x), 0.2, series,
                  f.mul(f.number(0.5), f.of(Op::log, ratio)));
}

/// The angle whose tangent is x: of the smaller of |x| and its inverse, by a polynomial (error
/// 2e-8).
View arc_tangent(NodeImport& node, const View& x) {
  constexpr std::array kTerms{1.0,           -0.3333314528, 0.1999355085,
                              -0.1420889944, 0.1065626393,  -0.0752896400,
                              0.0429096138,  -0.0161657367, 0.0028662257};
  const View small =
      node.helper("ratio", formula_of(node, x, [](const Formula& f, int32_t v) {
                    const int32_t size = f.of(Op::abs, v);
                    return f.select(Op::gt, size, 1, f.of(Op::reciprocal, size), size);
                  }));
  const View angle = node.helper("angle", formula_of(node, small, [&](const Formula& f, int32_t v) {
                                   return f.mul(v, f.polynomial(f.mul(v, v), kTerms));
                                 }));
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int b = k.operand(angle, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t found = k.use(b);
  const Formula f{k};
  const int32_t turned = f.sub(f.number(std::numbers::pi / 2), found);
  const int32_t size = f.select(Op::gt, f.of(Op::abs, value), 1, turned, found);
  return k.result(all_labels(x.rank()), f.mul(f.of(Op::sign, value), size), x.type);
}

void arc_tangent_node(NodeImport& node) {
  node.define(0, arc_tangent(node, node.input(0)));
}

/// The angle whose sine is x: that whose tangent is x / sqrt(1 - x^2).
View arc_sine(NodeImport& node, const View& x) {
  return arc_tangent(node,
                     node.helper("tangent", formula_of(node, x, [](const Formula& f, int32_t v) {
                                   const int32_t one = f.number(1);
                                   const int32_t rest = f.mul(f.sub(one, v), f.add(one, v));
                                   return f.div(v, f.of(Op::sqrt, rest));
                                 })));
}

void arc_sine_node(NodeImport& node) {
  node.define(0, arc_sine(node, node.input(0)));
}

void arc_cosine_node(NodeImport& node) {
  const View sine = node.helper("sine", arc_sine(node, node.input(0)));
  node.define(0, formula_of(node, sine, [](const Formula& f, int32_t v) {
                return f.sub(f.number(std::numbers::pi / 2), v);
              }));
}

/// swish(a) * b
void swiglu(NodeImport& node) {
  const View& a = node.input(0);
  const View& b = node.input(1);
  if (a.shape() != b.shape()) node.reject("expected two operands of one shape");
  Kernel k = node.kernel();
  const int gate = k.operand(a, all_labels(a.rank()));
  const int up = k.operand(b, all_labels(a.rank()));
  const int32_t left = k.use(gate);
  const int32_t right = k.use(up);
  const Formula f{k};
  const int32_t root = f.mul(swish_of(f, left, node.real("alpha", 1)), right);
  node.define(0, k.result(all_labels(a.rank()), root, a.type));
}

/// A GELU of x plus a bias along its last dimension (input 1), which may be left out.
template <Op op>
void biased_gelu(NodeImport& node) {
  const View& x = node.input(0);
  if (node.has_input(1) && node.input(1).rank() > x.rank())
    node.reject("the bias has more dimensions than the input");
  Kernel k = node.kernel();
  const int at = k.broadcast(x, x.rank());
  const int bias = node.has_input(1) ? k.broadcast(node.input(1), x.rank()) : -1;
  int32_t root = k.use(at);
  if (bias >= 0) root = k.apply(Op::add, {root, k.use(bias)});
  node.define(0, k.result(all_labels(x.rank()), k.apply(op, {root}), x.type));
}

constexpr OperatorRow kElementaryRows[] = {
    {"Acos", arc_cosine_node},
    {"Acosh", one_formula<inverse_hyperbolic_cosine>},
    {"Asin", arc_sine_node},
    {"Asinh", one_formula<inverse_hyperbolic_sine>},
    {"Atan", arc_tangent_node},
    {"Atanh", one_formula<inverse_hyperbolic_tangent>},
    {"Celu", one_formula<celu>},
    {"Cosh", one_formula<hyperbolic_cosine>},
    {"Mish", one_formula<mish>},
    {"Shrink", one_formula<shrink>},
    {"Sinh", one_formula<hyperbolic_sine>},
    {"SwiGLU", swiglu},
    {"Swish", one_formula<swish>},
    {"Tan", one_formula<tangent>},
    {"com.microsoft.BiasGelu", biased_gelu<Op::gelu>},
    {"com.microsoft.FastGelu", biased_gelu<Op::gelu_tanh>},
    {"com.microsoft.Gelu", biased_gelu<Op::gelu>},
    {"com.microsoft.QuickGelu", one_formula<quick_gelu>},
};

}  // namespace

std::span<const OperatorRow> elementary_operators() {
  return kElementaryRows;
}

}  // namespace fuseflow
