// Quantised arithmetic: values as integers with a scale and a zero point, of the whole tensor or of
// each element of one axis. Statements compute with whole numbers in f32, which is exact up to
// 2^24; the tensors that hold them are declared i8, u8 or i32.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/small_types.h"
#include "import/operators/window.h"
#include "support/ceil_div.h"

namespace fuseflow {

namespace {

bool is_byte(ElementType type) {
  return element_bytes(type) == 1 && type != ElementType::boolean;
}

void require_bytes(const NodeImport& node, ElementType type, const char* what) {
  if (type == ElementType::i8 || type == ElementType::u8) return;
  node.reject(fmt::format("{} has type {}, expected i8 or u8", what, element_name(type)));
}

/// Labels of a scale or zero point of a tensor with labels 0 .. rank - 1: none for a single one,
/// all for one of the tensor's shape (by_block below), else that of the axis.
std::vector<int> scale_labels(const NodeImport& node, const View& scale, const View& x) {
  if (scale.size() == 1) return std::vector<int>(static_cast<size_t>(scale.rank()), 0);
  if (scale.rank() == x.rank() && scale.rank() > 1) return all_labels(x.rank());
  const int axis = node.axis(node.integer("axis", 1), x.rank());
  if (scale.rank() != 1 || scale.extent(0) != x.extent(axis)) {
    node.reject(fmt::format(
        "the scale or zero point has shape [{}], expected one number, or {} "
        "for axis {} of [{}]",
        fmt::join(scale.shape(), ","), x.extent(axis), axis, fmt::join(x.shape(), ",")));
  }
  return {axis};
}

/// Scales (zero points) of blocks along the axis, one for each element of x: an index that changes
/// nothing. Others as they are.
View by_block(NodeImport& node, const View& scale, const View& x) {
  const int64_t block = node.integer("block_size", 0);
  if (block == 0) return scale;
  const int axis = node.axis(node.integer("axis", 1), x.rank());
  std::vector<int64_t> wanted = x.shape();
  if (block > 0) wanted[static_cast<size_t>(axis)] = ceil_div(x.extent(axis), block);
  if (block < 1 || scale.shape() != wanted) {
    node.reject(
        fmt::format("scales or zero points of shape [{}] for blocks of {} along axis {} "
                    "of [{}], expected [{}]",
                    fmt::join(scale.shape(), ","), block, axis, fmt::join(x.shape(), ","),
                    fmt::join(wanted, ",")));
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.extent(axis); ++i) places.push_back(i / block);
  return gathered_elements(node, scale, places, axis);
}

/// A scale or zero point of one element, whatever its rank, as one of rank 0.
View as_parameter(const NodeImport& node, const View& value) {
  if (value.size() != 1 || value.rank() == 0) return value;
  View single = value;
  if (!reshape(single, {})) node.reject("a scale or zero point is not a plain number");
  return single;
}

/// Whether a zero point is 0 everywhere: then it is not subtracted, and what is sparse stays
/// sparse.
bool is_zero(const NodeImport& node, const View& point) {
  const ConstantPtr data = node.importer().constant_of(point);
  if (data == nullptr) return false;
  for (int64_t e = 0; e < data->size(); ++e) {
    if (data->as_float(e) != 0) return false;
  }
  return true;
}

/// The zero point at input i of a node; null where it is left out, or 0 everywhere.
const View* point_at(const NodeImport& node, int i) {
  return node.has_input(i) && !is_zero(node, node.input(i)) ? &node.input(i) : nullptr;
}

/// Operands of a (de)quantisation: the value, its scale, and its zero point if there is one.
struct Quantised {
  View x, scale, zero;
  bool has_zero = false;
  Kernel kernel;
  int at_x = -1, at_scale = -1, at_zero = -1;
};

Quantised operands(const NodeImport& node, const View& x, const View& scale, const View* zero) {
  Quantised q{x, as_parameter(node, scale), {}, zero != nullptr, node.kernel()};
  q.at_x = q.kernel.operand(q.x, all_labels(x.rank()));
  const auto labels = [&](const View& of) {
    return of.rank() == 0 ? std::vector<int>{} : scale_labels(node, of, x);
  };
  q.at_scale = q.kernel.operand(q.scale, labels(q.scale));
  if (!q.has_zero) return q;
  q.zero = as_parameter(node, *zero);
  q.at_zero = q.kernel.operand(q.zero, labels(q.zero));
  return q;
}

/// The whole numbers of a type of up to 16 bits.
struct WholeRange {
  float least, largest;
};

std::optional<WholeRange> whole_range(ElementType type, int code) {
  const auto integers = integers_of_code(code, type);
  if (!integers || integers->bits < 2 || integers->bits > 16) return std::nullopt;
  const float places = std::ldexp(1.0F, integers->is_signed ? integers->bits - 1 : integers->bits);
  return WholeRange{integers->is_signed ? -places : 0, places - 1};
}

/// round(x / scale) + zero point, as near as the type can have it; a view of f32.
View quantised(const NodeImport& node, const View& x, const View& scale, const View* zero,
               const WholeRange& range) {
  Quantised q = operands(node, x, scale, zero);
  Kernel& k = q.kernel;
  const int32_t value = k.use(q.at_x);
  int32_t root = k.apply(Op::round, {k.apply(Op::div, {value, k.use(q.at_scale)})});
  if (q.has_zero) root = k.apply(Op::add, {root, k.use(q.at_zero)});
  root = k.apply(Op::max, {root, k.constant(range.least)});
  root = k.apply(Op::min, {root, k.constant(range.largest)});
  return k.result(all_labels(x.rank()), root, ElementType::f32);
}

/// Defines output i as `value`, whose numbers are whole, as a tensor of an integer type.
void define_whole(NodeImport& node, int i, View value, ElementType type) {
  // What is constant is folded in its own type, and of an integer type that is integer arithmetic.
  if (const ConstantPtr folded = node.importer().constant_of(value)) {
    std::vector<float> values(static_cast<size_t>(folded->size()));
    for (int64_t e = 0; e < folded->size(); ++e) {
      values[static_cast<size_t>(e)] = folded->as_float(e);
    }
    return node.output_constant(i, constant_values(std::move(values), folded->shape, type));
  }
  value.type = type;
  node.define(i, std::move(value));
}

/// To a floating-point type of 8 bits or less: x / scale + zero point, rounded.
void quantize_to_small(NodeImport& node, const View& x, const View& scale, const View* zero,
                       ElementType type, int code) {
  Quantised q = operands(node, x, scale, zero);
  Kernel& k = q.kernel;
  int32_t root = k.apply(Op::div, {k.use(q.at_x), k.use(q.at_scale)});
  if (q.has_zero) root = k.apply(Op::add, {root, k.use(q.at_zero)});
  const View scaled_x = k.result(all_labels(x.rank()), root, ElementType::f32);
  const bool saturates = node.integer("saturate", 1) != 0;
  node.define(0, rounded_to_small(node, scaled_x, type, code, saturates));
}

void quantize_linear(NodeImport& node) {
  node.ignore({"axis", "saturate", "precision"});  // of vectors of scales, of f8, of how it divides
  ElementType type = node.has_input(2) ? node.input(2).type : ElementType::u8;
  int code = node.has_input(2) ? node.input(2).code : 0;
  if (const int64_t given = node.integer("output_dtype", 0); given != 0) {
    type = node.onnx_type(given);
    code = stored_code(given);
  }
  const View& x = node.input(0);
  const View scale = by_block(node, node.input(1), x);
  const View* point = point_at(node, 2);
  const View zero = point != nullptr ? by_block(node, *point, x) : View();
  if (is_small_float(type, code)) {
    quantize_to_small(node, x, scale, point != nullptr ? &zero : nullptr, type, code);
  } else if (const auto range = whole_range(type, code)) {
    define_whole(node, 0, quantised(node, x, scale, point != nullptr ? &zero : nullptr, *range),
                 type);
  } else {
    node.reject(
        fmt::format("the result has type {}, expected integers of up to 16 bits or "
                    "floating-point numbers of up to 8",
                    element_name(type)));
  }
  if (code != 0) node.mark_code(0, code);
}

/// Weights stay in the type that they are stored in: what is computed from them is not folded.
void keep_quantised(NodeImport& node, const View& x) {
  if (is_byte(x.type) && x.size() > 1) node.importer().mark_activation(x);
}

void dequantize_linear(NodeImport& node) {
  node.ignore({"axis"});  // of vectors of scales
  const View& x = node.input(0);
  keep_quantised(node, x);
  const View scale = by_block(node, node.input(1), x);
  const View* point = point_at(node, 2);
  const View zero = point != nullptr ? by_block(node, *point, x) : View();
  Quantised q = operands(node, x, scale, point != nullptr ? &zero : nullptr);
  Kernel& k = q.kernel;
  int32_t root = k.use(q.at_x);
  if (q.has_zero) root = k.apply(Op::sub, {root, k.use(q.at_zero)});
  root = k.apply(Op::mul, {root, k.use(q.at_scale)});
  const int64_t code = node.integer("output_dtype", 0);
  const ElementType type = code == 0 ? q.scale.type : node.onnx_type(code);
  node.define(0, k.result(all_labels(x.rank()), root, type));
}

/// A zero point of a factor: one number, or one for each row (column) of a matrix.
struct ZeroPoint {
  View value;
  std::vector<int> labels;
};

std::optional<ZeroPoint> zero_point(const NodeImport& node, int i, const View& factor, int label) {
  const View* point = point_at(node, i);
  if (point == nullptr) return std::nullopt;
  const View value = as_parameter(node, *point);
  if (value.rank() == 0) return ZeroPoint{value, {}};
  const int along = factor.rank() - (label == kRow ? 2 : 1);
  if (value.rank() == 1 && factor.rank() > 1 && value.extent(0) == factor.extent(along)) {
    return ZeroPoint{value, {label}};
  }
  node.reject(
      fmt::format("a zero point of shape [{}] for a factor of shape [{}] is not supported, "
                  "expected one number or one for each {}",
                  fmt::join(value.shape(), ","), fmt::join(factor.shape(), ","),
                  label == kRow ? "row" : "column"));
}

/// Where the operands of a product of integers are among the node's inputs.
struct ProductInputs {
  int a, a_zero, b, b_zero;
};

/// sum over k of (a[.., k] - its zero point) * (b[k, ..] - its zero point), as whole numbers in
/// f32, times `scale`, if there is one.
View integer_product(NodeImport& node, const ProductInputs& at, const View* scale) {
  const View& a = node.input(at.a);
  const View& b = node.input(at.b);
  const int batch = product_batch(node, a, b);
  keep_quantised(node, a);
  keep_quantised(node, b);
  std::optional<ZeroPoint> zeros[2] = {zero_point(node, at.a_zero, a, kRow),
                                       zero_point(node, at.b_zero, b, kColumn)};
  Kernel k = node.kernel();
  const int factors[2] = {k.operand(a, product_labels(a.rank(), batch, true)),
                          k.operand(b, product_labels(b.rank(), batch, false))};
  int points[2] = {-1, -1};
  for (int f = 0; f < 2; ++f) {
    if (zeros[f]) points[f] = k.operand(zeros[f]->value, zeros[f]->labels);
  }
  const int scaled = scale != nullptr ? k.operand(*scale, {}) : -1;
  int32_t values[2] = {};
  for (int f = 0; f < 2; ++f) {
    values[f] = k.use(factors[f]);
    if (points[f] >= 0) values[f] = k.apply(Op::sub, {values[f], k.use(points[f])});
  }
  int32_t root = k.reduce(Reduction::sum, {kInner}, k.apply(Op::mul, {values[0], values[1]}));
  if (scaled >= 0) root = k.apply(Op::mul, {root, k.use(scaled)});
  return k.result(result_labels(a, b, batch), root, ElementType::f32);
}

void matmul_integer(NodeImport& node) {
  define_whole(node, 0, integer_product(node, {0, 2, 1, 3}, nullptr), ElementType::i32);
}

View scalar_of(const NodeImport& node, Op op, const View& x, const View& y) {
  return binary_view(node, op, as_parameter(node, x), as_parameter(node, y));
}

/// Inputs: a, its scale and zero point, b, its scale and zero point, those of the result.
void qlinear_matmul(NodeImport& node) {
  const ElementType type = node.input(7).type;
  require_bytes(node, type, "the result");
  for (const int scale : {1, 4, 6}) {
    if (node.input(scale).size() == 1) continue;
    node.reject(fmt::format("input {} has shape [{}], expected one scale a tensor", scale,
                            fmt::join(node.input(scale).shape(), ",")));
  }
  const View both = node.helper("scale", scalar_of(node, Op::mul, node.input(1), node.input(4)));
  const View product = node.helper("product", integer_product(node, {0, 2, 3, 5}, &both));
  const View* zero = point_at(node, 7);
  define_whole(node, 0, quantised(node, product, node.input(6), zero, *whole_range(type, 0)), type);
}

/// The range of x with 0, in 256 steps; of zeros alone the scale is 1, as onnxruntime has it.
void dynamic_quantize_linear(NodeImport& node) {
  const View& x = node.input(0);
  const View zero = scalar_view(0);
  const auto extreme = [&](Reduction reduction, Op op, const char* name) {
    View all = reduced_view(node, reduction, x, all_labels(x.rank()));
    if (!reshape(all, {})) node.reject("the extremes of its input cannot be taken");
    return node.helper(name, binary_view(node, op, all, zero));
  };
  const View largest = extreme(Reduction::max, Op::max, "largest");
  const View least = extreme(Reduction::min, Op::min, "least");
  const View range = node.helper("range", binary_view(node, Op::sub, largest, least));
  Kernel k = node.kernel();
  const int r = k.operand(range, {});
  const int32_t none = k.apply(Op::eq, {k.use(r), k.constant(0)});
  const int32_t step = k.apply(Op::div, {k.use(r), k.constant(255)});
  node.define(1, k.result({}, k.apply(Op::where, {none, k.constant(1), step}), x.type));
  const View scale = node.importer().value(node.output_name(1));
  const View from = unary_view(node, Op::neg, least);
  const WholeRange bytes = *whole_range(ElementType::u8, 0);
  define_whole(node, 2, quantised(node, from, scale, nullptr, bytes), ElementType::u8);
  const View point = node.importer().value(node.output_name(2));
  define_whole(node, 0, quantised(node, x, scale, &point, bytes), ElementType::u8);
}

/// A tensor minus its zero point (input `point`), which is one number or one for each element of
/// dimension 0. Centered, what is outside of it is 0: the zero point is what a convolution pads
/// with.
View centered_operand(NodeImport& node, int i, int point, const char* suffix) {
  const View& x = node.input(i);
  if (x.rank() < 3) node.reject("expected an input [N,C,...] and weights [M,C/group,...]");
  keep_quantised(node, x);
  const View* zero = point_at(node, point);
  if (zero == nullptr) return node.whole(x, suffix);
  if (i == 0 && zero->size() != 1) node.reject("expected one zero point of the input");
  const View value = as_parameter(node, *zero);
  if (value.rank() > 1 || (value.rank() == 1 && value.extent(0) != x.extent(0)))
    node.reject("expected one zero point, or one for each filter");
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int b = k.operand(value, all_labels(value.rank()));
  const int32_t root = k.apply(Op::sub, {k.use(a), k.use(b)});
  return node.helper(suffix, k.result(all_labels(x.rank()), root, ElementType::f32));
}

/// The convolution of integers as whole numbers in f32.
Convolution integer_convolution(NodeImport& node, const View& x, const View& weights) {
  Convolution c = convolution(node, x, weights, nullptr);
  c.value.type = ElementType::f32;
  return c;
}

void conv_integer(NodeImport& node) {
  const View x = centered_operand(node, 0, 2, "input");
  const View weights = centered_operand(node, 1, 3, "weights");
  const Convolution c = integer_convolution(node, x, weights);
  define_whole(node, 0, c.value, ElementType::i32);
  node.output(0, node.reshaped(node.importer().value(node.output_name(0)), c.shape));
}

/// Inputs: x, its scale and zero point, weights, theirs, those of the result, a bias in steps of
/// the product of both scales.
void qlinear_conv(NodeImport& node) {
  const ElementType type = node.input(7).type;
  require_bytes(node, type, "the result");
  const View x = centered_operand(node, 0, 2, "input");
  const View weights = centered_operand(node, 3, 5, "weights");
  const Convolution c = integer_convolution(node, x, weights);
  const View sum = node.reshaped(node.helper("sum", c.value), c.shape);
  if (node.input(1).size() != 1 || node.input(6).size() != 1)
    node.reject("expected one scale of the input and one of the result");
  const View w_scale = as_parameter(node, node.input(4));
  if (w_scale.rank() > 1) node.reject("expected one scale of the weights, or one for each filter");
  Kernel k = node.kernel();
  const int at_sum = k.operand(sum, all_labels(sum.rank()));
  const int at_x = k.operand(as_parameter(node, node.input(1)), {});
  const int at_w = k.operand(w_scale, std::vector<int>(static_cast<size_t>(w_scale.rank()), 1));
  const int at_bias = node.has_input(8) ? k.operand(node.input(8), {1}) : -1;
  int32_t root = k.use(at_sum);
  if (at_bias >= 0) root = k.apply(Op::add, {root, k.use(at_bias)});
  root = k.apply(Op::mul, {root, k.apply(Op::mul, {k.use(at_x), k.use(at_w)})});
  const View product =
      node.helper("product", k.result(all_labels(sum.rank()), root, ElementType::f32));
  define_whole(node, 0,
               quantised(node, product, node.input(6), point_at(node, 7), *whole_range(type, 0)),
               type);
}

constexpr OperatorRow kQuantisationRows[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", matmul_integer, "zero points of stacked rows"},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul, "scales of rows or columns"},
    {"QuantizeLinear", quantize_linear, "results of 32 bits"},
};

}  // namespace

std::span<const OperatorRow> quantisation_operators() {
  return kQuantisationRows;
}

}  // namespace fuseflow
