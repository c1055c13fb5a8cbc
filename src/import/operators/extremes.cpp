// ArgMax, ArgMin and Hardmax: where the extreme is. The extreme first, then the first (or last)
// place that equals it, by a comparison of coordinates.
#include <fmt/format.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr int64_t kExactPlaces = int64_t{1} << 24;  // a place is computed as f32

/// The place of the extreme along `axis`, whose extent becomes 1. The first NaN is the extreme.
View extreme_place(NodeImport& node, const View& x, int axis, Reduction extreme, bool last) {
  const int64_t n = x.extent(axis);
  if (n == 0) node.reject("an axis without elements has no extreme");
  if (n > kExactPlaces)
    node.reject(fmt::format("an axis of {} elements, expected at most {}", n, kExactPlaces));
  const View best = node.helper("extreme", reduced_view(node, extreme, x, {axis}));
  std::vector<int> labels = all_labels(x.rank());
  Kernel k = node.kernel();
  const int a = k.operand(x, labels);
  const int b = k.operand(best, labels);
  int32_t here = k.apply(Op::eq, {k.use(a), k.use(b)});
  if (!is_integer(x.type)) here = k.apply(Op::logical_or, {here, k.apply(Op::isnan, {k.use(a)})});
  const int32_t elsewhere = k.constant(last ? -1.0F : static_cast<float>(n));
  const int32_t place = k.apply(Op::where, {here, k.coordinate(axis), elsewhere});
  const int32_t root = k.reduce(last ? Reduction::max : Reduction::min, {axis}, place);
  labels[static_cast<size_t>(axis)] = -1;
  return k.result(labels, root, ElementType::i64);
}

template <Reduction extreme>
void arg_extreme(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() == 0) node.reject("expected a tensor of rank 1 or more");
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const bool last = node.integer("select_last_index", 0) != 0;
  View place = extreme_place(node, x, axis, extreme, last);
  if (node.integer("keepdims", 1) == 0) place.dims.erase(place.dims.begin() + axis);
  node.define(0, std::move(place));
}

/// 1 where the first maximum along `axis` is, 0 elsewhere.
View first_maximum(NodeImport& node, const View& x, int axis) {
  const View place = node.helper("place", extreme_place(node, x, axis, Reduction::max, false));
  const std::vector<int> labels = all_labels(x.rank());
  Kernel k = node.kernel();
  const int p = k.operand(place, labels);
  k.declare(axis, x.extent(axis));
  const int32_t here = k.apply(Op::eq, {k.use(p), k.coordinate(axis)});
  return k.result(labels, k.apply(Op::where, {here, k.constant(1), k.constant(0)}), x.type);
}

void hardmax(NodeImport& node) {
  const View& x = node.input(0);
  const bool flattens = node.opset() < 13;  // the dimensions from `axis` on are one
  const int64_t given = node.integer("axis", flattens ? 1 : -1);
  const int axis = flattens && given == x.rank() ? x.rank() : node.axis(given, x.rank());
  if (x.size() == 0) return node.output(0, x);
  if (!flattens) return node.define(0, first_maximum(node, x, axis));
  int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= x.extent(d);
  const View matrix = node.reshaped(x, {rows, x.size() / rows});
  node.define_reshaped(0, first_maximum(node, matrix, 1), x.shape());
}

constexpr OperatorRow kExtremesRows[] = {
    {"ArgMax", arg_extreme<Reduction::max>},
    {"ArgMin", arg_extreme<Reduction::min>},
    {"Hardmax", hardmax},
};

}  // namespace

std::span<const OperatorRow> extremes_operators() {
  return kExtremesRows;
}

}  // namespace fuseflow
