// Elementwise operators: numpy broadcasting, one statement each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/importer.h"
#include "import/onnx/definitions.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/wrapping.h"
#include "tensor/storage.h"

namespace fuseflow {

namespace {

/// The second operand in opsets below 7: of the shape of the first, unless attribute `broadcast`
/// says that it stands for the dimensions from `axis` on (without one: for the last ones).
View limited_operand(const NodeImport& node) {
  const View& a = node.input(0);
  View b = node.input(1);
  const bool broadcast = node.integer("broadcast", 0) != 0;
  const bool told = node.has_attribute("axis");
  if (broadcast && b.size() == 1) {
    if (!reshape(b, {})) node.reject("the second operand is not a plain number");
    return b;
  }
  const int first = told && broadcast ? node.axis(node.integer("axis", 0), std::max(a.rank(), 1))
                                      : a.rank() - b.rank();
  bool fits = first >= 0 && first + b.rank() <= a.rank() && (broadcast || a.rank() == b.rank());
  for (int d = 0; fits && d < b.rank(); ++d) fits = b.extent(d) == a.extent(first + d);
  if (!fits) {
    node.reject(fmt::format(
        "operands of shapes [{}] and [{}], expected {} in opset {}, where operators do not "
        "broadcast as numpy does",
        fmt::join(a.shape(), ","), fmt::join(b.shape(), ","),
        broadcast ? "dimensions of the first in the second, from attribute 'axis' on" : "one shape",
        node.opset()));
  }
  b.dims.resize(static_cast<size_t>(a.rank() - first));
  return b;
}

/// Below opset 8 the operators of any number of operands do not broadcast.
void require_one_shape(const NodeImport& node) {
  for (int i = 1; i < node.input_count(); ++i) {
    if (node.input(i).shape() == node.input(0).shape()) continue;
    node.reject(fmt::format("operands of shapes [{}] and [{}], expected one shape in opset {}",
                            fmt::join(node.input(0).shape(), ","),
                            fmt::join(node.input(i).shape(), ","), node.opset()));
  }
}

/// The operands of a node, as its opset broadcasts them.
std::vector<View> operands_of(const NodeImport& node, int count) {
  std::vector<View> operands;
  const OperatorDefinition* definition = definition_at(node.onnx().op, node.opset());
  const bool limited = definition != nullptr && definition->attribute("broadcast") != nullptr;
  for (int i = 0; i < count; ++i)
    operands.push_back(i == 1 && limited ? limited_operand(node) : node.input(i));
  return operands;
}

/// Broadcasts all inputs of the node; gives the kernel, the nodes of the operands and the result
/// labels.
struct Broadcast {
  Kernel kernel;
  std::vector<int32_t> operands;
  std::vector<int> labels;
};

Broadcast broadcast_views(const NodeImport& node, const std::vector<View>& operands) {
  Broadcast b{node.kernel(), {}, {}};
  std::vector<std::vector<int64_t>> shapes;
  shapes.reserve(operands.size());
  for (const View& operand : operands) shapes.push_back(operand.shape());
  const std::vector<int64_t> shape = broadcast_shape(shapes, node.onnx().op);
  const auto rank = static_cast<int>(shape.size());
  std::vector<int> handles;
  handles.reserve(operands.size());
  for (const View& operand : operands) handles.push_back(b.kernel.broadcast(operand, rank));
  for (const int h : handles) b.operands.push_back(b.kernel.use(h));
  for (int d = 0; d < rank; ++d) b.labels.push_back(shape[static_cast<size_t>(d)] == 1 ? -1 : d);
  return b;
}

Broadcast broadcast_inputs(const NodeImport& node, int count) {
  return broadcast_views(node, operands_of(node, count));
}

template <Op op>
void unary(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  const int32_t root = b.kernel.apply(op, {b.operands[0]});
  define_computed(node, b.kernel, b.labels, root, node.input(0).type);
}

template <Op op, bool boolean = false>
void binary(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 2);
  const int32_t root = b.kernel.apply(op, {b.operands[0], b.operands[1]});
  const ElementType type = boolean ? ElementType::boolean : node.input(0).type;
  define_computed(node, b.kernel, b.labels, root, type);
}

/// Sum, Mean, Max, Min of any number of operands.
template <Op op, bool mean = false>
void variadic(NodeImport& node) {
  if (node.opset() < 8) require_one_shape(node);
  Broadcast b = broadcast_inputs(node, node.input_count());
  if (b.operands.empty()) node.reject("expected at least one input");
  int32_t root = b.kernel.apply_all(op, b.operands);
  if (mean) {
    root =
        b.kernel.apply(Op::div, {root, b.kernel.constant(static_cast<float>(b.operands.size()))});
    root = whole_result(node, b.kernel, b.labels, root);
  }
  define_computed(node, b.kernel, b.labels, root, node.input(0).type);
}

/// Refuses whole numbers divided by a constant with a 0, which has no result.
void check_divisor(const NodeImport& node) {
  if (!ConstantTensor::is_integral(node.input(1).type)) return;
  const ConstantPtr divisor = node.try_constant(1);
  for (int64_t i = 0; divisor && i < divisor->size(); ++i) {
    if (divisor->as_int(i) != 0) continue;
    node.reject(
        fmt::format("integer division by zero: element {} of the divisor (input 1) is 0, "
                    "expected other numbers",
                    i));
  }
}

void divide(NodeImport& node) {
  check_divisor(node);
  Broadcast b = broadcast_inputs(node, 2);
  Kernel& k = b.kernel;
  const int32_t quotient = k.apply(Op::div, {b.operands[0], b.operands[1]});
  const int32_t root = whole_result(node, k, b.labels, quotient);
  define_computed(node, k, b.labels, root, node.input(0).type);
}

/// Whether all powers of whole numbers by these exponents are whole.
bool keeps_whole(const ConstantPtr& exponents) {
  if (!exponents) return false;
  for (int64_t i = 0; i < exponents->size(); ++i) {
    const float e = exponents->as_float(i);
    if (!(e >= 0) || e != std::floor(e)) return false;
  }
  return true;
}

void power(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 2);
  Kernel& k = b.kernel;
  int32_t root = k.apply(Op::pow, {b.operands[0], b.operands[1]});
  const ElementType type = node.input(0).type;
  if (ConstantTensor::is_integral(type) && !keeps_whole(node.try_constant(1)))
    root = whole_result(node, k, b.labels, root);
  define_computed(node, k, b.labels, root, type);
}

/// Products remember that they weight a selection (see Selection in view.h).
void multiply(NodeImport& node) {
  binary<Op::mul>(node);
  const View& a = node.input(0);
  const View& b = node.input(1);
  if (a.selection && !b.selection) node.weight_selection(a, b);
  if (b.selection && !a.selection) node.weight_selection(b, a);
}

template <Op op>
void with_alpha(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  const float otherwise = op == Op::elu ? 1.0F : 0.01F;
  const int32_t alpha = b.kernel.constant(node.real("alpha", otherwise));
  node.define(
      0, b.kernel.result(b.labels, b.kernel.apply(op, {b.operands[0], alpha}), node.input(0).type));
}

void where(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 3);
  const int32_t root = b.kernel.apply(Op::where, {b.operands[0], b.operands[1], b.operands[2]});
  node.define(0, b.kernel.result(b.labels, root, node.input(1).type));
}

/// The bounds of opsets below 11 are attributes, and by default the ends of f32: no infinity is
/// left. Later a bound that is missing is none.
void clip(NodeImport& node) {
  const View& x = node.input(0);
  Kernel k = node.kernel();
  const int o = k.broadcast(x, x.rank());
  const int low = node.has_input(1) ? k.broadcast(node.input(1), x.rank()) : -1;
  const int high = node.has_input(2) ? k.broadcast(node.input(2), x.rank()) : -1;
  int32_t root = k.use(o);
  const auto bound = [&](Op op, int operand, const char* name, float otherwise) {
    if (operand < 0 && node.opset() >= 11) return;
    const int32_t limit = operand >= 0 ? k.use(operand) : k.constant(node.real(name, otherwise));
    root = k.apply(op, {root, limit});
  };
  bound(Op::max, low, "min", std::numeric_limits<float>::lowest());
  bound(Op::min, high, "max", std::numeric_limits<float>::max());
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

void gelu(NodeImport& node) {
  const std::string form = node.text("approximate", "none");
  if (form != "none" && form != "tanh")
    node.reject("attribute 'approximate' is neither none nor tanh");
  node.define(0, unary_view(node, form == "tanh" ? Op::gelu_tanh : Op::gelu, node.input(0)));
}

/// max(0, min(1, alpha * x + beta))
void hard_sigmoid(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  Kernel& k = b.kernel;
  const int32_t scaled = k.apply(Op::mul, {k.constant(node.real("alpha", 0.2F)), b.operands[0]});
  const int32_t shifted = k.apply(Op::add, {scaled, k.constant(node.real("beta", 0.5F))});
  const int32_t above = k.apply(Op::max, {shifted, k.constant(0)});
  node.define(0, k.result(b.labels, k.apply(Op::min, {above, k.constant(1)}), node.input(0).type));
}

/// gamma * elu(x, alpha)
void selu(NodeImport& node) {
  const bool old = node.opset() < 6;
  Broadcast b = broadcast_inputs(node, 1);
  Kernel& k = b.kernel;
  const float alpha = node.real("alpha", old ? 1.6732F : 1.67326319217681884765625F);
  const int32_t inner = k.apply(Op::elu, {b.operands[0], k.constant(alpha)});
  const int32_t gamma = k.constant(node.real("gamma", old ? 1.0507F : 1.05070102214813232421875F));
  node.define(0, k.result(b.labels, k.apply(Op::mul, {gamma, inner}), node.input(0).type));
}

/// x where x >= 0, slope * x elsewhere. Below opset 7 a slope has one number for each channel.
void prelu(NodeImport& node) {
  const View& x = node.input(0);
  View slope = node.input(1);
  if (node.opset() < 7 && slope.rank() == 1 && slope.size() > 1 && x.rank() > 1)
    slope.dims.resize(static_cast<size_t>(x.rank() - 1));
  if (broadcast_shape({x.shape(), slope.shape()}, "PRelu") != x.shape())
    node.reject(fmt::format("a slope of shape [{}], expected one that broadcasts to [{}]",
                            fmt::join(slope.shape(), ","), fmt::join(x.shape(), ",")));
  Broadcast b = broadcast_views(node, {x, slope});
  const int32_t root = b.kernel.apply(Op::leaky_relu, {b.operands[0], b.operands[1]});
  node.define(0, b.kernel.result(b.labels, root, node.input(0).type));
}

void thresholded_relu(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  Kernel& k = b.kernel;
  const int32_t above = k.apply(Op::gt, {b.operands[0], k.constant(node.real("alpha", 1))});
  const int32_t root = k.apply(Op::where, {above, b.operands[0], k.constant(0)});
  node.define(0, k.result(b.labels, root, node.input(0).type));
}

/// x / (1 + |x|)
void softsign(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  Kernel& k = b.kernel;
  const int32_t size = k.apply(Op::abs, {b.operands[0]});
  const int32_t below = k.apply(Op::add, {k.constant(1), size});
  node.define(0, k.result(b.labels, k.apply(Op::div, {b.operands[0], below}), node.input(0).type));
}

template <Op op>
void question(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  node.define(0,
              b.kernel.result(b.labels, b.kernel.apply(op, {b.operands[0]}), ElementType::boolean));
}

void is_inf(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  Kernel& k = b.kernel;
  int32_t root = k.apply(Op::isinf, {b.operands[0]});
  if (node.integer("detect_positive", 1) == 0) {
    root = k.apply(Op::logical_and, {root, k.apply(Op::lt, {b.operands[0], k.constant(0)})});
  }
  if (node.integer("detect_negative", 1) == 0) {
    root = k.apply(Op::logical_and, {root, k.apply(Op::gt, {b.operands[0], k.constant(0)})});
  }
  node.define(0, k.result(b.labels, root, ElementType::boolean));
}

/// The remainder with the sign of the divisor, or with that of the dividend (fmod = 1).
void modulo(NodeImport& node) {
  check_divisor(node);
  Broadcast b = broadcast_inputs(node, 2);
  Kernel& k = b.kernel;
  int32_t root = -1;
  if (node.integer("fmod", 0) == 0) {
    root = k.apply(Op::mod, {b.operands[0], b.operands[1]});
  } else {
    const int32_t negative = k.apply(Op::lt, {b.operands[0], k.constant(0)});
    const int32_t size =
        k.apply(Op::mod, {k.apply(Op::abs, {b.operands[0]}), k.apply(Op::abs, {b.operands[1]})});
    root = k.apply(Op::where, {negative, k.apply(Op::neg, {size}), size});
  }
  define_computed(node, k, b.labels, root, node.input(0).type);
}

/// The part of the last two dimensions above (or below) a diagonal: a selection by a 0/1 matrix.
void trilu(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 2) node.reject("expected a matrix or a stack of them");
  const bool upper = node.integer("upper", 1) != 0;
  int64_t diagonal = 0;
  if (node.has_input(1)) {
    const auto given = node.ints_input(1, "the diagonal");
    if (given.size() != 1) node.reject("expected one diagonal");
    diagonal = std::clamp<int64_t>(given[0], -(int64_t{1} << 40), int64_t{1} << 40);
  }
  const int64_t rows = x.extent(x.rank() - 2);
  const int64_t columns = x.extent(x.rank() - 1);
  if (element_count(std::vector<int64_t>{rows, columns}) > kMaxFoldedElements)
    node.reject("the matrix is too large");
  auto mask = room_for<int64_t>(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    stop_if_asked();
    for (int64_t j = 0; j < columns; ++j) {
      mask[static_cast<size_t>(i * columns + j)] = upper ? j - i >= diagonal : j - i <= diagonal;
    }
  }
  const View kept = derived_constant(
      node, "kept", constant_ints(std::move(mask), {rows, columns}, ElementType::boolean));
  Kernel k = node.kernel();
  const int a = k.broadcast(kept, x.rank());
  const int b = k.broadcast(x, x.rank());
  const int32_t chosen = k.use(a);
  const int32_t value = k.use(b);
  const int32_t root = k.apply(Op::where, {chosen, value, k.constant(0)});
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

constexpr OperatorRow kElementwiseRows[] = {
    {"Abs", unary<Op::abs>},
    {"Add", binary<Op::add>},
    {"And", binary<Op::logical_and, true>},
    {"Ceil", unary<Op::ceil>},
    {"Clip", clip},
    {"Cos", unary<Op::cos>},
    {"Div", divide},
    {"Elu", with_alpha<Op::elu>},
    {"Equal", binary<Op::eq, true>},
    {"Erf", unary<Op::erf>},
    {"Exp", unary<Op::exp>},
    {"Floor", unary<Op::floor>},
    {"Gelu", gelu},
    {"Greater", binary<Op::gt, true>},
    {"GreaterOrEqual", binary<Op::ge, true>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<Op::hardswish>},
    {"IsInf", is_inf},
    {"IsNaN", question<Op::isnan>},
    {"LeakyRelu", with_alpha<Op::leaky_relu>},
    {"Less", binary<Op::lt, true>},
    {"LessOrEqual", binary<Op::le, true>},
    {"Log", unary<Op::log>},
    {"Max", variadic<Op::max>},
    {"Mean", variadic<Op::add, true>},
    {"Min", variadic<Op::min>},
    {"Mod", modulo},
    {"Mul", multiply},
    {"Neg", unary<Op::neg>},
    {"Not", question<Op::logical_not>},
    {"Or", binary<Op::logical_or, true>},
    {"Pow", power},
    {"PRelu", prelu},
    {"Reciprocal", unary<Op::reciprocal>},
    {"Relu", unary<Op::relu>},
    {"Round", unary<Op::round>},
    {"Selu", selu},
    {"Sigmoid", unary<Op::sigmoid>},
    {"Sign", unary<Op::sign>},
    {"Sin", unary<Op::sin>},
    {"Softplus", unary<Op::softplus>},
    {"Softsign", softsign},
    {"Sqrt", unary<Op::sqrt>},
    {"Sub", binary<Op::sub>},
    {"Sum", variadic<Op::add>},
    {"Tanh", unary<Op::tanh>},
    {"ThresholdedRelu", thresholded_relu},
    {"Trilu", trilu},
    {"Where", where},
    {"Xor", binary<Op::logical_xor, true>},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() {
  return kElementwiseRows;
}

}  // namespace fuseflow
