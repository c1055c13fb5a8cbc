// Reductions over axes, and running sums.
#include <algorithm>
#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/wrapping.h"

namespace fuseflow {

namespace {

enum class ElementTransform { nothing, square, absolute };

struct Axes {
  std::vector<int> axes;
  bool keep = true;
  bool none = false;  ///< empty axes that mean: reduce nothing
};

Axes axes_of(const NodeImport& node) {
  Axes result;
  const int rank = node.input(0).rank();
  result.keep = node.integer("keepdims", 1) != 0;
  const auto given = node.ints(1, "axes", "the axes");
  if (given) {
    for (const int64_t a : *given) result.axes.push_back(node.axis(a, rank));
    std::sort(result.axes.begin(), result.axes.end());
    result.axes.erase(std::unique(result.axes.begin(), result.axes.end()), result.axes.end());
  }
  result.none = node.integer("noop_with_empty_axes", 0) != 0 && result.axes.empty();
  if (!result.axes.empty()) return result;
  if (!result.none) result.axes = all_labels(rank);
  return result;
}

std::vector<int> result_labels(int rank, const Axes& a) {
  std::vector<int> labels;
  for (int d = 0; d < rank; ++d) {
    const bool gone = std::find(a.axes.begin(), a.axes.end(), d) != a.axes.end();
    if (!gone)
      labels.push_back(d);
    else if (a.keep)
      labels.push_back(-1);
  }
  return labels;
}

int32_t prepared(Kernel& k, int32_t x, ElementTransform before) {
  if (before == ElementTransform::square) return k.apply(Op::mul, {x, x});
  if (before == ElementTransform::absolute) return k.apply(Op::abs, {x});
  return x;
}

/// before(x), reduced, then after().
template <Reduction reduction, ElementTransform before = ElementTransform::nothing,
          Op after = Op::count_>
void reduce(NodeImport& node) {
  const View& x = node.input(0);
  const Axes a = axes_of(node);
  Kernel k = node.kernel();
  const int operand = k.operand(x, all_labels(x.rank()));
  int32_t root = prepared(k, k.use(operand), before);
  if (!a.none) root = k.reduce(reduction, a.axes, root);
  if (after != Op::count_) root = k.apply(after, {root});
  const std::vector<int> labels = result_labels(x.rank(), a);
  const bool cut = reduction == Reduction::mean && ConstantTensor::is_integral(x.type) &&
                   !node.importer().folds(k.result(labels, root, x.type));
  if (!cut) {
    define_computed(node, k, labels, root, x.type);
    return;
  }
  const View mean = node.helper("mean", k.result(labels, root, ElementType::f32));
  Kernel last = node.kernel();
  const int of = last.operand(mean, all_labels(mean.rank()));
  root = cut_towards_zero(last, last.use(of));
  node.define(0, last.result(all_labels(mean.rank()), root, x.type));
}

/// log(sum(exp(x))), shifted by the maximum so that it does not overflow.
void log_sum_exp(NodeImport& node) {
  const View& x = node.input(0);
  Axes a = axes_of(node);
  const Axes kept{a.axes, true, a.none};
  Kernel first = node.kernel();
  const int o = first.operand(x, all_labels(x.rank()));
  const int32_t largest =
      a.none ? first.use(o) : first.reduce(Reduction::max, a.axes, first.use(o));
  const View top = node.helper("max", first.result(result_labels(x.rank(), kept), largest, x.type));
  Kernel between = node.kernel();
  const int t = between.operand(top, all_labels(x.rank()));
  const int32_t infinite = between.apply(Op::isinf, {between.use(t)});
  const int32_t zero = between.constant(0);
  const int32_t shift = between.apply(Op::where, {infinite, zero, between.use(t)});
  const View maximum = node.helper("shift", between.result(all_labels(x.rank()), shift, x.type));
  Kernel second = node.kernel();
  const int p = second.operand(x, all_labels(x.rank()));
  const int q = second.operand(maximum, all_labels(x.rank()));
  const int32_t left = second.use(p);
  const int32_t right = second.use(q);
  int32_t sum = second.apply(Op::exp, {second.apply(Op::sub, {left, right})});
  if (!a.none) sum = second.reduce(Reduction::sum, a.axes, sum);
  const int32_t again = second.use(q);
  const int32_t root = second.apply(Op::add, {second.apply(Op::log, {sum}), again});
  node.define(0, second.result(result_labels(x.rank(), a), root, x.type));
}

/// y[i] = sum (or product) over j <= i of x[j], with a triangular 0/1 matrix that says which.
template <Reduction reduction>
void running(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<int64_t> axes = node.ints_input(1, "the axis");
  if (axes.size() != 1) node.reject("expected one axis");
  const int axis = node.axis(axes[0], x.rank());
  const bool exclusive = node.integer("exclusive", 0) != 0;
  const bool reverse = node.integer("reverse", 0) != 0;
  const int64_t n = x.extent(axis);
  if (n > 8192) node.reject("the axis is too long for a triangular matrix, expected at most 8192");
  auto matrix = room_for<int64_t>(n * n);
  for (int64_t i = 0; i < n; ++i) {
    stop_if_asked();
    for (int64_t j = 0; j < n; ++j) {
      const bool counted = reverse ? (exclusive ? j > i : j >= i) : (exclusive ? j < i : j <= i);
      matrix[static_cast<size_t>(i * n + j)] = counted;
    }
  }
  const View triangle =
      node.importer().add_constant(node.output_name(0) + ".triangle",
                                   constant_ints(std::move(matrix), {n, n}, ElementType::boolean));
  if (reduction == Reduction::sum)
    return node.define(0, chosen_sum(node, triangle, {axis, kSource}, x, axis));
  Kernel k = node.kernel();
  std::vector<int> from = all_labels(x.rank());
  from[static_cast<size_t>(axis)] = kSource;
  const int t = k.operand(triangle, {axis, kSource});
  const int o = k.operand(x, from);
  const int32_t counted = k.apply(Op::where, {k.use(t), k.use(o), k.constant(1)});
  const int32_t root = k.reduce(reduction, {kSource}, counted);
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

constexpr OperatorRow kReductionRows[] = {
    {"CumProd", running<Reduction::prod>, "axes longer than 8192"},
    {"CumSum", running<Reduction::sum>, "axes longer than 8192"},
    {"ReduceL1", reduce<Reduction::sum, ElementTransform::absolute>},
    {"ReduceL2", reduce<Reduction::sum, ElementTransform::square, Op::sqrt>},
    {"ReduceLogSum", reduce<Reduction::sum, ElementTransform::nothing, Op::log>},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", reduce<Reduction::max>},
    {"ReduceMean", reduce<Reduction::mean>},
    {"ReduceMin", reduce<Reduction::min>},
    {"ReduceProd", reduce<Reduction::prod>},
    {"ReduceSum", reduce<Reduction::sum>},
    {"ReduceSumSquare", reduce<Reduction::sum, ElementTransform::square>},
};

}  // namespace

std::span<const OperatorRow> reduction_operators() {
  return kReductionRows;
}

}  // namespace fuseflow
