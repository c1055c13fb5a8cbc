// OneHot: a comparison of indices, constant or computed, with the coordinate along the new
// dimension.
#include <fmt/format.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// One of the two numbers of input `values`, as a view of shape [].
View number_of(NodeImport& node, int64_t place) {
  return node.reshaped(node.sliced(node.input(2), 0, place, 1, 1), {});
}

void one_hot(NodeImport& node) {
  const View& indices = node.input(0);
  const auto given = node.ints_input(1, "the depth");
  if (given.size() != 1 || given[0] < 0) node.reject("expected one depth of 0 or more");
  const int64_t depth = given[0];
  if (node.input(2).shape() != std::vector<int64_t>{2})
    node.reject("expected two values: that of all others, and that of the index");
  const int rank = indices.rank() + 1;
  const int axis = node.axis(node.integer("axis", -1), rank);
  std::vector<int> labels;  // of the indices, in the result
  for (int d = 0; d < rank; ++d) {
    if (d != axis) labels.push_back(d);
  }
  const View others = number_of(node, 0);
  const View chosen = number_of(node, 1);
  Kernel k = node.kernel();
  k.declare(axis, depth);
  const int i = k.operand(indices, labels);
  const int off = k.operand(others, {});
  const int on = k.operand(chosen, {});
  int32_t place = k.use(i);
  if (!ConstantTensor::is_integral(indices.type)) place = cut_towards_zero(k, place);
  if (node.opset() >= 11) {  // before, negative ones are out of range
    const int32_t negative = k.apply(Op::lt, {place, k.constant(0)});
    const int32_t from_end = k.apply(Op::add, {place, k.constant(static_cast<float>(depth))});
    place = k.apply(Op::where, {negative, from_end, place});
  }
  const int32_t here = k.apply(Op::eq, {place, k.coordinate(axis)});
  const int32_t root = k.apply(Op::where, {here, k.use(on), k.use(off)});
  node.define(0, k.result(all_labels(rank), root, node.input(2).type));
}

constexpr OperatorRow kOneHotRows[] = {
    {"OneHot", one_hot, "a depth that is not constant"},
};

}  // namespace

std::span<const OperatorRow> one_hot_operators() {
  return kOneHotRows;
}

}  // namespace fuseflow
