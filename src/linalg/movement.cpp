// Most are other views of the same elements; what is put together of several becomes a statement
// that chooses by coordinates.
#include "linalg/movement.h"

#include <fmt/format.h>

#include <algorithm>

#include "linalg/regroup.h"

namespace fuseflow {

namespace {

std::vector<int> labels_of(int rank) {
  std::vector<int> labels;
  for (int d = 0; d < rank; ++d) labels.push_back(d);
  return labels;
}

/// 1 where every coordinate lies among offset, offset + stride, ... (size of them); -1: everywhere.
int32_t inside(Kernel& k, const LinalgOp& op, const std::vector<int64_t>& shape) {
  int32_t all = -1;
  const auto also = [&](int32_t condition) {
    all = all < 0 ? condition : k.apply(Op::logical_and, {all, condition});
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    if (op.offsets[d] == 0 && op.strides[d] == 1 && op.sizes[d] == shape[d]) continue;
    const auto number = [&](int64_t n) { return k.constant(static_cast<float>(n)); };
    const auto at = [&] { return k.coordinate(static_cast<int>(d)); };
    const int64_t end = op.offsets[d] + op.strides[d] * (op.sizes[d] - 1) + 1;
    if (op.offsets[d] > 0) also(k.apply(Op::ge, {at(), number(op.offsets[d])}));
    if (end < shape[d]) also(k.apply(Op::lt, {at(), number(end)}));
    if (op.strides[d] == 1) continue;
    const int32_t from = k.apply(Op::sub, {at(), number(op.offsets[d])});
    also(k.apply(Op::eq, {k.apply(Op::mod, {from, number(op.strides[d])}), number(0)}));
  }
  return all;
}

/// Extents of 1 where the smaller tensor lacks dimensions of the larger.
View with_dropped(View view, const std::vector<bool>& dropped) {
  std::vector<std::vector<IndexId>> dims;
  size_t next = 0;
  for (const bool gone : dropped) {
    if (gone)
      dims.emplace_back();
    else
      dims.push_back(view.dims[next++]);
  }
  view.dims = std::move(dims);
  return view;
}

/// `source` at its place in a tensor of this shape, what stands around it elsewhere.
View placed_result(LinalgValues& values, const LinalgOp& op, const View& source, const View* around,
                   float otherwise, int group) {
  const LinalgId id = op.results[0];
  const LinalgValue& made = values.function.values[static_cast<size_t>(id)];
  const auto rank = static_cast<int>(made.shape.size());
  Kernel k(op.name);
  View small = single_atoms(values, source, made.name, group);
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    if (op.strides[at] == 1) {
      small = placed(small, d, op.offsets[at], made.shape[at]);
      continue;
    }
    // Every stride-th element: the index of the larger dimension is divided where it is inside.
    refuse_linalg(op, "puts elements at a stride, expected a stride of 1");
  }
  const int in = k.operand(small, labels_of(rank));
  const int out = around == nullptr ? -1 : k.operand(*around, labels_of(rank));
  for (int d = 0; d < rank; ++d) k.declare(d, made.shape[static_cast<size_t>(d)]);
  int32_t root = k.use(in);
  const int32_t condition = inside(k, op, made.shape);
  if (condition >= 0) {
    const int32_t other = out < 0 ? k.constant(otherwise) : k.use(out);
    root = k.apply(Op::where, {condition, root, other});
  }
  return define_linalg(values, id, k.result(labels_of(rank), root, made.type), group);
}

bool is_zero(const View& view) {
  return view.nodes.size() == 1 && view.nodes[0].kind == Expr::Kind::constant &&
         view.nodes[0].constant == 0;
}

View inserted(LinalgValues& values, const LinalgOp& op, int group) {
  const View source = with_dropped(values.at(op.inputs[0].value), op.dropped);
  const View& dest = values.at(op.inputs[1].value);
  return placed_result(values, op, source, is_zero(dest) ? nullptr : &dest, 0, group);
}

View padded(LinalgValues& values, const LinalgOp& op, int group) {
  const BodyNode& value = op.body[static_cast<size_t>(op.yields[0])];
  if (value.kind != BodyNode::Kind::constant)
    refuse_linalg(op, "expected a number that is known around the tensor");
  return placed_result(values, op, values.at(op.inputs[0].value), nullptr, value.constant, group);
}

View sliced(LinalgValues& values, const LinalgOp& op, int group) {
  View view = values.at(op.inputs[0].value);
  for (size_t d = 0; d < op.offsets.size(); ++d) {
    const auto dim = static_cast<int>(d);
    if (slice(view, dim, op.offsets[d], op.strides[d], op.sizes[d])) continue;
    view = single_atoms(values, view, values.name(op.inputs[0].value), group);
    slice(view, dim, op.offsets[d], op.strides[d], op.sizes[d]);
  }
  std::vector<std::vector<IndexId>> dims;
  for (size_t d = 0; d < op.dropped.size(); ++d) {
    if (!op.dropped[d]) dims.push_back(view.dims[d]);
  }
  view.dims = std::move(dims);
  return view;
}

/// The sum of the parts, each 0 outside of its place.
View concatenated(LinalgValues& values, const LinalgOp& op, int group) {
  const LinalgId id = op.results[0];
  const LinalgValue& made = values.function.values[static_cast<size_t>(id)];
  const auto rank = static_cast<int>(made.shape.size());
  const int64_t extent = made.shape[static_cast<size_t>(op.dim)];
  Kernel k(op.name);
  std::vector<int> operands;
  std::vector<View> parts;
  int64_t start = 0;
  for (const LinalgOperand& input : op.inputs) {
    parts.push_back(single_atoms(values, values.at(input.value), values.name(input.value), group));
    operands.push_back(k.operand(placed(parts.back(), op.dim, start, extent), labels_of(rank)));
    start += parts.back().extent(op.dim);
  }
  start = 0;
  int32_t root = -1;
  for (size_t p = 0; p < parts.size(); ++p) {
    int32_t value = k.use(operands[p]);
    const auto extent_of = [&](TensorId t, size_t d) {
      return values.importer.tensor_extent(t, d);
    };
    const int64_t end = start + parts[p].extent(op.dim);
    if (!reads_zero_outside(parts[p], op.dim, extent_of)) {
      const auto number = [&](int64_t n) { return k.constant(static_cast<float>(n)); };
      const int32_t from = k.apply(Op::ge, {k.coordinate(op.dim), number(start)});
      const int32_t to = k.apply(Op::lt, {k.coordinate(op.dim), number(end)});
      value = k.apply(Op::where, {k.apply(Op::logical_and, {from, to}), value, k.constant(0)});
    }
    root = root < 0 ? value : k.apply(Op::add, {root, value});
    start = end;
  }
  return define_linalg(values, id, k.result(labels_of(rank), root, made.type), group);
}

View reshaped(LinalgValues& values, const LinalgOp& op, int group) {
  const LinalgId id = op.results[0];
  const LinalgValue& made = values.function.values[static_cast<size_t>(id)];
  View view = values.at(op.inputs[0].value);
  if (view.size() != element_count(made.shape))
    refuse_linalg(op, "its result has another number of elements than its operand");
  if (reshape(view, made.shape)) return view;
  return define_linalg(values, id, regrouped_view(values.at(op.inputs[0].value), made.shape),
                       group);
}

/// A copy: in another format it is another tensor; else it is the tensor itself.
View copied(LinalgValues& values, const LinalgOp& op, int group) {
  const LinalgId id = op.results[0];
  const LinalgValue& from = values.function.values[static_cast<size_t>(op.inputs[0].value)];
  const LinalgValue& to = values.function.values[static_cast<size_t>(id)];
  View view = values.at(op.inputs[0].value);
  view.type = to.type;
  const bool number = view.nodes.size() == 1 && view.nodes[0].kind == Expr::Kind::constant;
  if (number || (from.format == to.format && from.type == to.type)) return view;
  return define_linalg(values, id, std::move(view), group);
}

}  // namespace

View moved_result(LinalgValues& values, const LinalgOp& op, int group) {
  switch (op.kind) {
    case LinalgOp::Kind::reshape:
      return reshaped(values, op, group);
    case LinalgOp::Kind::slice:
      return sliced(values, op, group);
    case LinalgOp::Kind::insert:
      return inserted(values, op, group);
    case LinalgOp::Kind::concat:
      return concatenated(values, op, group);
    case LinalgOp::Kind::pad:
      return padded(values, op, group);
    default:
      return copied(values, op, group);
  }
}

}  // namespace fuseflow
