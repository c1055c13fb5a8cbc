// Elementwise operators: numpy broadcasting, one statement each.
#include <fmt/format.h>

#include <limits>

#include "import/importer.h"
#include "import/registry.h"

namespace fuseflow {

namespace {

/// Broadcasts all inputs of the node; gives the kernel, the nodes of the operands and the result
/// labels.
struct Broadcast {
  Kernel kernel;
  std::vector<int32_t> operands;
  std::vector<int> labels;
};

Broadcast broadcast_inputs(const NodeImport& node, int count) {
  Broadcast b{node.kernel(), {}, {}};
  std::vector<std::vector<int64_t>> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(node.input(i).shape());
  const std::vector<int64_t> shape = broadcast_shape(shapes, node.onnx().op);
  const auto rank = static_cast<int>(shape.size());
  std::vector<int> handles;
  for (int i = 0; i < count; ++i) handles.push_back(b.kernel.broadcast(node.input(i), rank));
  for (const int h : handles) b.operands.push_back(b.kernel.use(h));
  for (int d = 0; d < rank; ++d) b.labels.push_back(shape[static_cast<size_t>(d)] == 1 ? -1 : d);
  return b;
}

template <Op op>
void unary(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 1);
  const int32_t root = b.kernel.apply(op, {b.operands[0]});
  node.define(0, b.kernel.result(b.labels, root, node.input(0).type));
}

template <Op op, bool boolean = false>
void binary(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 2);
  const int32_t root = b.kernel.apply(op, {b.operands[0], b.operands[1]});
  node.define(0,
              b.kernel.result(b.labels, root, boolean ? ElementType::boolean : node.input(0).type));
}

/// Sum, Mean, Max, Min of any number of operands.
template <Op op, bool mean = false>
void variadic(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, node.input_count());
  if (b.operands.empty()) node.reject("expected at least one input");
  int32_t root = b.operands[0];
  for (size_t i = 1; i < b.operands.size(); ++i) root = b.kernel.apply(op, {root, b.operands[i]});
  if (mean)
    root =
        b.kernel.apply(Op::div, {root, b.kernel.constant(static_cast<float>(b.operands.size()))});
  node.define(0, b.kernel.result(b.labels, root, node.input(0).type));
}

void divide(NodeImport& node) {
  Broadcast b = broadcast_inputs(node, 2);
  Kernel& k = b.kernel;
  int32_t root = k.apply(Op::div, {b.operands[0], b.operands[1]});
  const ElementType type = node.input(0).type;
  const bool constant =
      node.importer().is_constant(node.input(0)) && node.importer().is_constant(node.input(1));
  if (HostTensor::is_integral(type) && !constant) {  // integers truncate; folding does so by itself
    const int32_t negative = k.apply(Op::lt, {root, k.constant(0)});
    const int32_t up = k.apply(Op::ceil, {root});
    const int32_t down = k.apply(Op::floor, {root});
    root = k.apply(Op::where, {negative, up, down});
  }
  node.define(0, k.result(b.labels, root, type));
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

constexpr OperatorRow kRows[] = {
    {"Abs", unary<Op::abs>},
    {"Add", binary<Op::add>},
    {"And", binary<Op::logical_and, true>},
    {"Ceil", unary<Op::ceil>},
    {"Cos", unary<Op::cos>},
    {"Div", divide},
    {"Elu", with_alpha<Op::elu>},
    {"Equal", binary<Op::eq, true>},
    {"Erf", unary<Op::erf>},
    {"Exp", unary<Op::exp>},
    {"Floor", unary<Op::floor>},
    {"Greater", binary<Op::gt, true>},
    {"GreaterOrEqual", binary<Op::ge, true>},
    {"HardSwish", unary<Op::hardswish>},
    {"LeakyRelu", with_alpha<Op::leaky_relu>},
    {"Less", binary<Op::lt, true>},
    {"LessOrEqual", binary<Op::le, true>},
    {"Log", unary<Op::log>},
    {"Max", variadic<Op::max>},
    {"Mean", variadic<Op::add, true>},
    {"Min", variadic<Op::min>},
    {"Mul", binary<Op::mul>},
    {"Neg", unary<Op::neg>},
    {"Or", binary<Op::logical_or, true>},
    {"Pow", binary<Op::pow>},
    {"Reciprocal", unary<Op::reciprocal>},
    {"Relu", unary<Op::relu>},
    {"Round", unary<Op::round>},
    {"Sigmoid", unary<Op::sigmoid>},
    {"Sign", unary<Op::sign>},
    {"Sin", unary<Op::sin>},
    {"Softplus", unary<Op::softplus>},
    {"Sqrt", unary<Op::sqrt>},
    {"Sub", binary<Op::sub>},
    {"Sum", variadic<Op::add>},
    {"Tanh", unary<Op::tanh>},
    {"Where", where},
    {"Xor", binary<Op::logical_xor, true>},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() {
  return kRows;
}

}  // namespace fuseflow
