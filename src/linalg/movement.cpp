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
  labels.reserve(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) labels.push_back(d);
  return labels;
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
      check_counted(op, extent);
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
    case LinalgOp::Kind::concat:
      return concatenated(values, op, group);
    default:
      return copied(values, op, group);
  }
}

}  // namespace fuseflow
