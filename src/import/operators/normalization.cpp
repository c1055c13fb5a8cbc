// Softmax and the normalisations: one kernel of several statements.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "import/importer.h"
#include "import/registry.h"

namespace fuseflow {

namespace {

std::vector<int> all_labels(int rank) {
  std::vector<int> labels(static_cast<size_t>(rank));
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

/// `x op y` where y has the reduced dimensions as extents of 1.
View combine(const NodeImport& node, Op op, const View& x, const View& y) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int b = k.operand(y, all_labels(y.rank()));
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  return k.result(all_labels(x.rank()), k.apply(op, {left, right}), x.type);
}

/// Reduces the dimensions `axes` to extents of 1.
View reduced(const NodeImport& node, Reduction reduction, const View& x,
             const std::vector<int>& axes) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t root = k.reduce(reduction, axes, k.use(a));
  std::vector<int> labels = all_labels(x.rank());
  for (const int axis : axes) labels[static_cast<size_t>(axis)] = -1;
  return k.result(labels, root, x.type);
}

View apply_unary(const NodeImport& node, Op op, const View& x) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  return k.result(all_labels(x.rank()), k.apply(op, {k.use(a)}), x.type);
}

/// The axes of a softmax: one since opset 13, all from `axis` on before.
std::vector<int> softmax_axes(const NodeImport& node, int rank) {
  const bool one = node.opset() >= 13;
  const int axis = rank == 0 ? 0 : node.axis(node.integer("axis", one ? -1 : 1), rank);
  if (rank == 0) return {};
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
  const View maximum = node.helper("max", reduced(node, Reduction::max, x, axes));
  if (logarithm) {
    const View shifted = node.helper("shifted", combine(node, Op::sub, x, maximum));
    const View exponential = node.helper("exp", apply_unary(node, Op::exp, shifted));
    const View sum = node.helper("sum", reduced(node, Reduction::sum, exponential, axes));
    const View log = node.helper("log", apply_unary(node, Op::log, sum));
    node.define(0, combine(node, Op::sub, shifted, log));
    return;
  }
  const View exponential = node.helper("exp", shifted_exp(node, x, maximum));
  const View sum = node.helper("sum", reduced(node, Reduction::sum, exponential, axes));
  node.importer().mark_nonzero_if_finite(sum, maximum);
  node.define(0, combine(node, Op::div, exponential, sum));
}

constexpr OperatorRow kRows[] = {
    {"LogSoftmax", softmax<true>},
    {"Softmax", softmax<false>},
};

}  // namespace

std::span<const OperatorRow> normalization_operators() {
  return kRows;
}

}  // namespace fuseflow
