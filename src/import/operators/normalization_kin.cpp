// Normalisations by root mean squares, groups of channels and norms, and those that add their
// operands first (com.microsoft). One kernel of several statements each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/normalization.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// The attribute epsilon where it is absent, of what adds its operands first (onnxruntime's
/// kDefaultSkipLayerNormEpsilon).
constexpr float kSkipEpsilon = 1e-12F;

void require_precision(const NodeImport& node) {
  if (const int64_t stash = node.integer("stash_type", 1); stash != 1 && stash != 11)
    node.reject(fmt::format("stash_type {} (a type of less precision) is not supported", stash));
}

/// Defines output 0 as x / sqrt(mean(x * x) + epsilon) * scale; gives the factor of x. `epsilon`:
/// where the attribute is absent.
View rms_normalise(NodeImport& node, const View& x, const std::vector<int>& axes, const View& scale,
                   float epsilon = kEpsilon) {
  const View inverse =
      node.helper("inverse", inverse_deviation(node, x, axes, node.real("epsilon", epsilon)));
  node.define(0, scaled(node, x, inverse, &scale, nullptr));
  return inverse;
}

/// Output 1 is the factor (of com.microsoft).
void rms_normalization(NodeImport& node) {
  require_precision(node);
  const View& x = node.input(0);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  const View inverse = rms_normalise(node, x, axes_from(axis, x.rank()), node.input(1));
  if (node.has_output(1)) node.output(1, inverse);
}

/// Mean and deviation of each group of channels; scale and bias of each channel (below opset 21: of
/// each group).
void group_normalization(NodeImport& node) {
  require_precision(node);
  const View& x = node.input(0);
  const int64_t groups = node.integer("num_groups", 0);
  if (x.rank() < 2 || groups < 1 || x.extent(1) % groups != 0) {
    node.reject(fmt::format("{} groups of the channels of [{}], expected a divisor of their number",
                            groups, fmt::join(x.shape(), ",")));
  }
  const std::vector<int64_t> shape = x.shape();
  const int64_t each = x.extent(1) / groups;
  std::vector<int64_t> split = {shape[0], groups, each};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  std::vector<int64_t> by_group(split.size(), 1);  // of scale and bias
  by_group[1] = groups;
  if (node.opset() >= 21) by_group[2] = each;
  const View grouped = node.reshaped(x, split);
  const View scale = node.reshaped(node.input(1), by_group);
  const View bias = node.reshaped(node.input(2), by_group);
  const auto axes = axes_from(2, grouped.rank());
  const View mean = node.helper("mean", reduced_view(node, Reduction::mean, grouped, axes));
  const View centered = node.helper("centered", binary_view(node, Op::sub, grouped, mean));
  const View inverse = node.helper(
      "inverse", inverse_deviation(node, centered, axes, node.real("epsilon", kEpsilon)));
  node.define_reshaped(0, scaled(node, centered, inverse, &scale, &bias), shape);
}

/// (x - mean) / (deviation + 1e-9)
void mean_variance_normalization(NodeImport& node) {
  const View& x = node.input(0);
  std::vector<int64_t> given = node.integers("axes");
  if (!node.has_attribute("axes")) given = {0, 2, 3};
  const std::vector<int> axes = distinct_axes(node, given, x.rank());
  const View mean = node.helper("mean", reduced_view(node, Reduction::mean, x, axes));
  const View centered = node.helper("centered", binary_view(node, Op::sub, x, mean));
  const View square = binary_view(node, Op::mul, centered, centered);
  const View variance = node.helper("variance", reduced_view(node, Reduction::mean, square, axes));
  const View deviation =
      binary_view(node, Op::add, unary_view(node, Op::sqrt, variance), scalar_view(1e-9F, x.type));
  node.define(0, binary_view(node, Op::div, centered, deviation));
}

/// x divided by the sum of sizes, or the root of the sum of squares, along an axis; 0 where that
/// is 0.
void lp_normalization(NodeImport& node) {
  const View& x = node.input(0);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  const int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) node.reject(fmt::format("p = {}, expected 1 or 2", p));
  const View sizes = p == 1 ? unary_view(node, Op::abs, x) : binary_view(node, Op::mul, x, x);
  const View sum = node.helper("sum", reduced_view(node, Reduction::sum, sizes, {axis}));
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int b = k.operand(sum, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t total = k.use(b);
  const int32_t norm = p == 1 ? total : k.apply(Op::sqrt, {total});
  const int32_t none = k.apply(Op::eq, {total, k.constant(0)});
  const int32_t root = k.apply(Op::where, {none, k.constant(0), k.apply(Op::div, {value, norm})});
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

/// The sum of inputs 0 and 1 and the bias at input `bias`, if it is there; output 3.
View skipped_sum(NodeImport& node, int bias) {
  const View& x = node.input(0);
  if (x.rank() < 1 || node.input(1).rank() > x.rank()) {
    node.reject(fmt::format("operands [{}] and [{}] do not fit", fmt::join(x.shape(), ","),
                            fmt::join(node.input(1).shape(), ",")));
  }
  Kernel k = node.kernel();
  const int a = k.broadcast(x, x.rank());
  const int b = k.broadcast(node.input(1), x.rank());
  const int c = node.has_input(bias) ? k.broadcast(node.input(bias), x.rank()) : -1;
  int32_t root = k.apply(Op::add, {k.use(a), k.use(b)});
  if (c >= 0) root = k.apply(Op::add, {root, k.use(c)});
  View sum = node.helper("sum", k.result(all_labels(x.rank()), root, x.type));
  if (node.has_output(3)) node.output(3, sum);
  return sum;
}

void skip_layer_normalization(NodeImport& node) {
  const View x = skipped_sum(node, 4);
  const View* beta = node.has_input(3) ? &node.input(3) : nullptr;
  const Normalised y = normalise(node, x, {x.rank() - 1}, &node.input(2), beta, kSkipEpsilon);
  if (node.has_output(1)) node.output(1, y.mean);
  if (node.has_output(2)) node.output(2, y.inverse);
}

void skip_rms_normalization(NodeImport& node) {
  const View x = skipped_sum(node, 3);
  const View inverse = rms_normalise(node, x, {x.rank() - 1}, node.input(2), kSkipEpsilon);
  if (node.has_output(1)) node.reject("output 1 (a mean that nothing has) is not supported");
  if (node.has_output(2)) node.output(2, inverse);
}

constexpr OperatorRow kNormalizationKinRows[] = {
    {"GroupNormalization", group_normalization},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", rms_normalization},
    {"SimplifiedLayerNormalization", rms_normalization, "onnxruntime writes it without a domain"},
    {"com.microsoft.SimplifiedLayerNormalization", rms_normalization},
    {"com.microsoft.SkipLayerNormalization", skip_layer_normalization},
    {"com.microsoft.SkipSimplifiedLayerNormalization", skip_rms_normalization},
};

}  // namespace

std::span<const OperatorRow> normalization_kin_operators() {
  return kNormalizationKinRows;
}

}  // namespace fuseflow
