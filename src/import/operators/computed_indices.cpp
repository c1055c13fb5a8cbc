#include "import/operators/computed_indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/operators/common.h"

namespace fuseflow {

namespace {

constexpr int kPlace = 2000;  // labels of dimensions of the indices are from here on
constexpr int64_t kMostComparedPlaces = 8192;  // each index is compared with all of them

void check_places(const NodeImport& node, int64_t places) {
  if (places < 1 || places > kMostComparedPlaces) {
    node.reject(
        fmt::format("the indices are computed by the program, and so each is compared with all "
                    "{} places, expected 1 to {}",
                    places, kMostComparedPlaces));
  }
}

/// An index counted from 0: negative ones count from the end.
int32_t from_start(Kernel& k, int32_t index, int64_t extent) {
  const int32_t negative = k.apply(Op::lt, {index, k.constant(0)});
  const int32_t moved = k.apply(Op::add, {index, k.constant(static_cast<float>(extent))});
  return k.apply(Op::where, {negative, moved, index});
}

/// Elements of `data` along `axis`, one for each of `indices`, whose dimensions take its place.
View elements_at(NodeImport& node, const View& data, int axis, const View& indices) {
  const int64_t extent = data.extent(axis);
  check_places(node, extent);
  std::vector<int> from = all_labels(data.rank());
  from[static_cast<size_t>(axis)] = kSource;
  std::vector<int> places;
  for (int d = 0; d < indices.rank(); ++d) places.push_back(kPlace + d);
  std::vector<int> to = all_labels(data.rank());
  to.erase(to.begin() + axis);
  to.insert(to.begin() + axis, places.begin(), places.end());
  Kernel k = node.kernel();
  const int i = k.operand(indices, places);
  const int o = k.operand(data, from);
  const int32_t index = from_start(k, k.use(i), extent);
  const int32_t here = k.apply(Op::eq, {index, k.coordinate(kSource)});
  const int32_t picked = k.apply(Op::where, {here, k.use(o), k.constant(0)});
  return k.result(to, k.reduce(Reduction::sum, {kSource}, picked), data.type);
}

/// Tuples of indices (the last dimension) as places in the leading dimensions of `data` as one.
View flat_places(NodeImport& node, const View& data, const View& tuples) {
  const int last = tuples.rank() - 1;
  const int64_t depth = last < 0 ? 0 : tuples.extent(last);
  if (depth < 1 || depth > data.rank()) {
    node.reject(fmt::format("indices of shape [{}] do not fit data of shape [{}]",
                            fmt::join(tuples.shape(), ","), fmt::join(data.shape(), ",")));
  }
  const std::vector<int> labels = all_labels(last);
  const std::vector<int64_t> tuple_shape = tuples.shape();
  const std::vector<int64_t> shape(tuple_shape.begin(), tuple_shape.end() - 1);
  Kernel k = node.kernel();
  std::vector<int> operands;
  for (int64_t d = 0; d < depth; ++d)
    operands.push_back(k.operand(node.reshaped(node.sliced(tuples, last, d, 1, 1), shape), labels));
  int32_t place = -1;
  for (int64_t d = 0; d < depth; ++d) {
    const int64_t extent = data.extent(static_cast<int>(d));
    const int32_t index = from_start(k, k.use(operands[static_cast<size_t>(d)]), extent);
    if (place >= 0) place = k.apply(Op::mul, {place, k.constant(static_cast<float>(extent))});
    place = place < 0 ? index : k.apply(Op::add, {place, index});
  }
  return node.helper("places", k.result(labels, place, ElementType::i64));
}

/// `data` with its first `count` dimensions as one.
View as_rows(NodeImport& node, const View& data, int64_t count) {
  std::vector<int64_t> shape = data.shape();
  int64_t rows = 1;
  for (int64_t d = 0; d < count; ++d) rows *= shape[static_cast<size_t>(d)];
  shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count));
  shape.insert(shape.begin(), rows);
  return node.reshaped(data, shape);
}

/// Updates along kSource, their places, and the data, all over the labels of the data but for its
/// dimension `axis`.
struct ComputedScatter {
  View data, places, updates;
  int axis = 0;
  std::vector<int> place_labels;
  Update update = Update::replace;
};

/// 1 where update e arrives at the element.
int32_t arrives(Kernel& k, const ComputedScatter& s, int places) {
  const int32_t place = from_start(k, k.use(places), s.data.extent(s.axis));
  return k.apply(Op::eq, {place, k.coordinate(s.axis)});
}

std::vector<int> labels_along(const View& data, int axis, int label) {
  std::vector<int> labels = all_labels(data.rank());
  labels[static_cast<size_t>(axis)] = label;
  return labels;
}

/// The last of the updates that arrive at each element: its number, -1 where none does.
View last_arrival(NodeImport& node, const ComputedScatter& s) {
  Kernel k = node.kernel();
  k.declare(s.axis, s.data.extent(s.axis));
  const int p = k.operand(s.places, s.place_labels);
  const int32_t number =
      k.apply(Op::where, {arrives(k, s, p), k.coordinate(kSource), k.constant(-1)});
  std::vector<int> labels;
  for (const int label : s.place_labels) labels.push_back(label == kSource ? s.axis : label);
  return node.helper(
      "last", k.result(labels, k.reduce(Reduction::max, {kSource}, number), ElementType::i64));
}

View computed_scatter(NodeImport& node, const ComputedScatter& s) {
  check_places(node, s.data.extent(s.axis));
  const std::vector<int> labels = all_labels(s.data.rank());
  const bool replaces = s.update == Update::replace;
  std::optional<View> last;
  if (replaces) last = last_arrival(node, s);
  Kernel k = node.kernel();
  const int d = k.operand(s.data, labels);
  const int u = k.operand(s.updates, labels_along(s.data, s.axis, kSource));
  const int p = replaces ? -1 : k.operand(s.places, s.place_labels);
  std::vector<int> last_labels;
  for (const int label : s.place_labels) last_labels.push_back(label == kSource ? s.axis : label);
  const int l = replaces ? k.operand(*last, last_labels) : -1;
  const UpdateRule joining = joining_of(s.update);
  const int32_t here =
      replaces ? k.apply(Op::eq, {k.use(l), k.coordinate(kSource)}) : arrives(k, s, p);
  const int32_t picked = k.apply(Op::where, {here, k.use(u), k.constant(joining.none)});
  const int32_t arrived = k.reduce(joining.reduction, {kSource}, picked);
  if (!replaces) return k.result(labels, k.apply(joining.op, {k.use(d), arrived}), s.data.type);
  const int32_t any = k.apply(Op::ge, {k.use(l), k.constant(0)});
  return k.result(labels, k.apply(Op::where, {any, arrived, k.use(d)}), s.data.type);
}

}  // namespace

bool has_computed_indices(const NodeImport& node) {
  return !node.importer().is_constant(node.input(1));
}

void gather_computed(NodeImport& node) {
  const View& data = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  node.define(0, elements_at(node, data, axis, node.input(1)));
}

void gather_nd_computed(NodeImport& node) {
  const View& data = node.input(0);
  const View& tuples = node.input(1);
  if (node.integer("batch_dims", 0) != 0)
    node.reject("batch_dims is not supported where the program computes the indices");
  const View places = flat_places(node, data, tuples);
  const View rows = as_rows(node, data, tuples.extent(tuples.rank() - 1));
  node.define(0, elements_at(node, rows, 0, places));
}

void gather_elements_computed(NodeImport& node) {
  View data = node.input(0);
  const View& indices = node.input(1);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  if (indices.rank() != data.rank()) node.reject("indices and data differ in rank");
  const int64_t extent = data.extent(axis);
  check_places(node, extent);
  for (int d = 0; d < data.rank(); ++d) {
    if (d == axis) continue;
    if (indices.extent(d) > data.extent(d))
      node.reject(fmt::format("indices have extent {} in dimension {}, expected at most {}",
                              indices.extent(d), d, data.extent(d)));
    data = node.sliced(data, d, 0, 1, indices.extent(d));
  }
  const std::vector<int> labels = all_labels(data.rank());
  Kernel k = node.kernel();
  const int i = k.operand(indices, labels);
  const int o = k.operand(data, labels_along(data, axis, kSource));
  const int32_t here = k.apply(Op::eq, {from_start(k, k.use(i), extent), k.coordinate(kSource)});
  const int32_t picked = k.apply(Op::where, {here, k.use(o), k.constant(0)});
  node.define(0, k.result(labels, k.reduce(Reduction::sum, {kSource}, picked), data.type));
}

void scatter_elements_computed(NodeImport& node, Update update) {
  const View& data = node.input(0);
  const View& indices = node.input(1);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  if (node.input(2).shape() != indices.shape() || indices.rank() != data.rank())
    node.reject("indices, updates and data do not fit");
  for (int d = 0; d < data.rank(); ++d) {
    if (d != axis && indices.extent(d) != data.extent(d)) {
      node.reject(
          fmt::format("computed indices have extent {} in dimension {}, expected {}, as "
                      "data",
                      indices.extent(d), d, data.extent(d)));
    }
  }
  node.define(0, computed_scatter(node, {data, indices, node.input(2), axis,
                                         labels_along(data, axis, kSource), update}));
}

void scatter_nd_computed(NodeImport& node, Update update) {
  const View& data = node.input(0);
  const View& tuples = node.input(1);
  View places = flat_places(node, data, tuples);
  const int64_t count = places.size();
  places = node.reshaped(places, {count});
  View rows = as_rows(node, data, tuples.extent(tuples.rank() - 1));
  std::vector<int64_t> shape = rows.shape();
  shape[0] = count;
  if (node.input(2).size() != element_count(shape))
    node.reject("the updates do not fit the indices");
  const View updates = node.reshaped(node.input(2), shape);
  node.define_reshaped(
      0, computed_scatter(node, {std::move(rows), places, updates, 0, {kSource}, update}),
      data.shape());
}

}  // namespace fuseflow
