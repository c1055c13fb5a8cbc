// Concat: parts that are slices of one value are views of it; else each part in its place, 0
// elsewhere, and the sum of these; constants are copied.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/values/progression.h"

namespace fuseflow {

namespace {

/// One part in its place, 0 elsewhere.
int32_t placed_part(NodeImport& node, Kernel& k, int operand, const View& part, int axis,
                    int64_t start) {
  const int32_t value = k.use(operand);
  const auto extent_of = [&](TensorId t, size_t d) { return node.tensor_extent(t, d); };
  if (reads_zero_outside(part, axis, extent_of)) return value;
  const int32_t from = k.apply(Op::ge, {k.coordinate(axis), k.constant(static_cast<float>(start))});
  const int32_t to = k.apply(
      Op::lt, {k.coordinate(axis), k.constant(static_cast<float>(start + part.extent(axis)))});
  const int32_t zero = k.constant(0);
  return k.apply(Op::where, {k.apply(Op::logical_and, {from, to}), value, zero});
}

/// All parts constant: copied at import.
ConstantPtr concatenated(const std::vector<ConstantPtr>& parts, int axis) {
  const ElementType type = parts[0]->type;
  std::vector<int64_t> shape = parts[0]->shape;
  int64_t extent = 0;
  for (const ConstantPtr& p : parts) extent += p->shape[static_cast<size_t>(axis)];
  shape[static_cast<size_t>(axis)] = extent;
  int64_t outer = 1;
  for (int d = 0; d < axis; ++d) outer *= shape[static_cast<size_t>(d)];
  const bool whole = ConstantTensor::is_integral(type);
  whole ? stop_unless_room<int64_t>(element_count(shape))
        : stop_unless_room<float>(element_count(shape));
  std::vector<int64_t> ints;
  std::vector<float> floats;
  for (int64_t o = 0; o < outer; ++o) {
    for (const ConstantPtr& p : parts) {
      const int64_t block = p->size() / outer;
      for (int64_t i = o * block; i < (o + 1) * block; ++i) {
        if (whole)
          ints.push_back(p->as_int(i));
        else
          floats.push_back(p->as_float(i));
      }
    }
  }
  return whole ? constant_ints(std::move(ints), std::move(shape), type)
               : constant_floats(std::move(floats), std::move(shape), type);
}

void check_parts(const NodeImport& node, const std::vector<View>& parts, int axis) {
  const View& first = parts[0];
  for (const View& part : parts) {
    bool same = part.rank() == first.rank() &&
                ConstantTensor::is_integral(part.type) == ConstantTensor::is_integral(first.type);
    for (int d = 0; same && d < first.rank(); ++d)
      same = d == axis || part.extent(d) == first.extent(d);
    if (!same) {
      node.reject(fmt::format("parts of shape [{}] and [{}] do not join along axis {}",
                              fmt::join(first.shape(), ","), fmt::join(part.shape(), ","), axis));
    }
  }
}

/// Parts that are slices of one value, as a view of it. A contraction over them stays a sum of
/// contractions over the parts (whose products may each be part of a chain), unless a part is a
/// single element: one product for each would be as many statements as the value has elements.
void output_joined(NodeImport& node, int output, View view, const std::vector<View>& parts,
                   int axis) {
  node.output(output, std::move(view));
  if (parts[0].extent(axis) == 1) return;
  Parts origin{axis, {}};
  for (const View& part : parts) origin.views.push_back(std::make_shared<const View>(part));
  node.join_output(output, std::move(origin));
}

void concat(NodeImport& node) {
  const int axis = node.axis(node.integer("axis", 1), node.input(0).rank());  // 1: below opset 4
  std::vector<View> parts;
  for (int i = 0; i < node.input_count(); ++i) parts.push_back(node.input(i));
  concatenate(node, 0, parts, axis);
}

constexpr OperatorRow kConcatRows[] = {
    {"Concat", concat},
};

}  // namespace

void concatenate(NodeImport& node, int output, const std::vector<View>& given, int axis) {
  check_parts(node, given, axis);
  std::vector<ConstantPtr> constants;
  std::vector<View> parts;
  int64_t extent = 0;
  for (const View& part : given) {
    if (ConstantPtr data = node.importer().constant_of(part)) constants.push_back(std::move(data));
    if (part.extent(axis) == 0) continue;
    parts.push_back(part);
    extent += part.extent(axis);
  }
  if (constants.size() == given.size())
    return node.output_constant(output, concatenated(constants, axis));
  if (parts.size() == 1) return node.output(output, parts[0]);
  if (auto view = joined(parts, axis))
    return output_joined(node, output, *std::move(view), parts, axis);
  Kernel k = node.kernel();
  std::vector<int> operands;
  Parts origin{axis, {}};
  int64_t start = 0;
  for (View& part : parts) {
    part = node.single_axis(part, axis);
    origin.views.push_back(std::make_shared<const View>(part));
    operands.push_back(k.operand(placed(part, axis, start, extent), all_labels(part.rank())));
    start += part.extent(axis);
  }
  std::vector<int32_t> values;
  start = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    values.push_back(placed_part(node, k, operands[p], parts[p], axis, start));
    start += parts[p].extent(axis);
  }
  const int32_t root = k.apply_all(Op::add, values);
  View joined = k.result(all_labels(parts[0].rank()), root, parts[0].type);
  node.output(output, joined);
  node.join_output(output, std::move(origin));
}

std::span<const OperatorRow> concat_operators() {
  return kConcatRows;
}

}  // namespace fuseflow
