// Softmax and the normalisations: one kernel of several statements.
#include <fmt/format.h>

#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/normalization.h"
#include "import/operators/registry.h"

namespace fuseflow {

View inverse_deviation(const NodeImport& node, const View& x, const std::vector<int>& axes,
                       float epsilon) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t again = k.use(a);
  const int32_t mean = k.reduce(Reduction::mean, axes, k.apply(Op::mul, {value, again}));
  const int32_t shifted = k.apply(Op::add, {mean, k.constant(epsilon)});
  const int32_t root = k.apply(Op::reciprocal, {k.apply(Op::sqrt, {shifted})});
  std::vector<int> labels = all_labels(x.rank());
  for (const int axis : axes) labels[static_cast<size_t>(axis)] = -1;
  return k.result(labels, root, x.type);
}

View scaled(const NodeImport& node, const View& x, const View& factor, const View* scale,
            const View* bias) {
  Kernel k = node.kernel();
  const int rank = x.rank();
  const int a = k.broadcast(x, rank);
  const int b = k.broadcast(factor, rank);
  const int c = scale != nullptr ? k.broadcast(*scale, rank) : -1;
  const int d = bias != nullptr ? k.broadcast(*bias, rank) : -1;
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  int32_t root = k.apply(Op::mul, {left, right});
  if (c >= 0) {
    const int32_t s = k.use(c);
    root = k.apply(Op::mul, {root, s});
  }
  if (d >= 0) {
    const int32_t added = k.use(d);
    root = k.apply(Op::add, {root, added});
  }
  return k.result(all_labels(rank), root, x.type);
}

View by_channel(const NodeImport& node, View v, int rank) {
  if (v.rank() != 1) node.reject("expected one value for each channel");
  v.dims.resize(static_cast<size_t>(std::max(1, rank - 1)));
  return v;
}

std::vector<int> axes_from(int axis, int rank) {
  std::vector<int> axes(static_cast<size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

Normalised normalise(NodeImport& node, const View& x, const std::vector<int>& axes,
                     const View* scale, const View* bias, float epsilon) {
  Normalised y;
  y.mean = node.helper("mean", reduced_view(node, Reduction::mean, x, axes));
  const View centered = node.helper("centered", binary_view(node, Op::sub, x, y.mean));
  y.inverse = node.helper("inverse",
                          inverse_deviation(node, centered, axes, node.real("epsilon", epsilon)));
  node.define(0, scaled(node, centered, y.inverse, scale, bias));
  return y;
}

namespace {

/// The axes of a softmax: one since opset 13, all from `axis` on before.
std::vector<int> softmax_axes(const NodeImport& node, int rank) {
  const bool one = node.opset() >= 13;
  const int64_t given = node.integer("axis", one ? -1 : 1);
  if (rank == 0) return {};
  const int axis = node.axis(given, rank);
  if (one) return {axis};
  std::vector<int> axes(static_cast<size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

/// exp(x - max), where the difference and its exponential are one statement.
View shifted_exp(const NodeImport& node, const View& x, const View& maximum) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int b = k.operand(maximum, all_labels(x.rank()));
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  const int32_t difference = k.apply(Op::sub, {left, right});
  return k.result(all_labels(x.rank()), k.apply(Op::exp, {difference}), x.type);
}

template <bool logarithm>
void softmax(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<int> axes = softmax_axes(node, x.rank());
  const View maximum = node.helper("max", reduced_view(node, Reduction::max, x, axes));
  if (logarithm) {
    const View shifted = node.helper("shifted", binary_view(node, Op::sub, x, maximum));
    const View exponential = node.helper("exp", unary_view(node, Op::exp, shifted));
    const View sum = node.helper("sum", reduced_view(node, Reduction::sum, exponential, axes));
    node.importer().mark_nonzero_if_finite(sum, maximum);
    const View log = node.helper("log", unary_view(node, Op::log, sum));
    node.define(0, binary_view(node, Op::sub, shifted, log));
    return;
  }
  const View exponential = node.helper("exp", shifted_exp(node, x, maximum));
  const View sum = node.helper("sum", reduced_view(node, Reduction::sum, exponential, axes));
  node.importer().mark_nonzero_if_finite(sum, maximum);
  node.define(0, binary_view(node, Op::div, exponential, sum));
}

void layer_normalization(NodeImport& node) {
  const View& x = node.input(0);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  if (const int64_t stash = node.integer("stash_type", 1); stash != 1 && stash != 11)
    node.reject(fmt::format("stash_type {} (a type of less precision) is not supported", stash));
  const View* bias = node.has_input(2) ? &node.input(2) : nullptr;
  const Normalised y = normalise(node, x, axes_from(axis, x.rank()), &node.input(1), bias);
  if (node.has_output(1)) node.output(1, y.mean);
  if (node.has_output(2)) node.output(2, y.inverse);
}

/// The mean of each channel over all else.
View channel_mean(const NodeImport& node, const View& x) {
  Kernel k = node.kernel();
  std::vector<int> labels = all_labels(x.rank());
  const int a = k.operand(x, labels);
  const int32_t value = k.use(a);
  labels.erase(labels.begin() + 1);
  return k.result({1}, k.reduce(Reduction::mean, labels, value), x.type);
}

/// What training uses: mean and variance of the batch itself. Outputs 1 and 2 are the running ones.
std::pair<View, View> batch_statistics(NodeImport& node, const View& x) {
  const View mean = node.helper("mean", channel_mean(node, x));
  const View wide = by_channel(node, mean, x.rank());
  const View centered = node.helper("centered", binary_view(node, Op::sub, x, wide));
  const View squares = binary_view(node, Op::mul, centered, centered);
  const View variance = node.helper("variance", channel_mean(node, squares));
  const float momentum = node.real("momentum", 0.9F);
  const auto running = [&](int input, int output, const View& now) {
    if (!node.has_output(output)) return;
    Kernel k = node.kernel();
    const int before = k.operand(node.input(input), {0});
    const int after = k.operand(now, {0});
    const int32_t kept = k.apply(Op::mul, {k.use(before), k.constant(momentum)});
    const int32_t added = k.apply(Op::mul, {k.use(after), k.constant(1 - momentum)});
    node.define(output, k.result({0}, k.apply(Op::add, {kept, added}), x.type));
  };
  running(3, 1, mean);
  running(4, 2, variance);
  return {mean, variance};
}

void batch_normalization(NodeImport& node) {
  const View& x = node.input(0);
  node.ignore({"momentum"});  // of training
  if (node.opset() < 7 && node.integer("is_test", 0) == 0)
    node.reject("training mode of opsets below 7; export the model with model.eval()");
  if (node.integer("spatial", 1) == 0)
    node.reject("spatial = 0 (a mean for each position) is not supported");
  if (x.rank() < 2) node.reject("expected a tensor of rank 2 or more");
  const bool trains = node.integer("training_mode", 0) != 0;
  const auto [mean, variances] =
      trains ? batch_statistics(node, x) : std::pair(node.input(3), node.input(4));
  Kernel k = node.kernel();
  const int s = k.operand(node.input(1), {0});
  const int v = k.operand(variances, {0});
  const int32_t scale = k.use(s);
  const int32_t variance = k.use(v);
  const int32_t shifted = k.apply(Op::add, {variance, k.constant(node.real("epsilon", kEpsilon))});
  const int32_t root = k.apply(Op::div, {scale, k.apply(Op::sqrt, {shifted})});
  const View factor = node.helper("factor", k.result({0}, root, x.type));
  const View product = binary_view(node, Op::mul, mean, factor);
  const View shift = node.helper("shift", binary_view(node, Op::sub, node.input(2), product));
  const View wide_factor = by_channel(node, factor, x.rank());
  const View wide_shift = by_channel(node, shift, x.rank());
  node.define(0, scaled(node, x, wide_factor, nullptr, &wide_shift));
}

void instance_normalization(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 3) node.reject("expected a tensor of rank 3 or more");
  const View scale = by_channel(node, node.input(1), x.rank());
  const View bias = by_channel(node, node.input(2), x.rank());
  normalise(node, x, axes_from(2, x.rank()), &scale, &bias);
}

constexpr OperatorRow kNormalizationRows[] = {
    {"BatchNormalization", batch_normalization,
     "training below opset 7; spatial = 0 below opset 9"},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
    {"LogSoftmax", softmax<true>},
    {"Softmax", softmax<false>},
};

}  // namespace

std::span<const OperatorRow> normalization_operators() {
  return kNormalizationRows;
}

}  // namespace fuseflow
