// Operators that make constants: shapes and what is computed from them.
#include <fmt/format.h>

#include <cmath>

#include "import/importer.h"
#include "import/operators/registry.h"
#include "support/error.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

void constant(NodeImport& node) {
  if (node.onnx().attributes.size() != 1)
    node.reject("expected exactly one attribute that gives the value");
  const std::string& name = node.onnx().attributes.begin()->first;
  const OnnxAttribute& a = *node.attribute(name);
  using K = OnnxAttribute::Kind;
  const auto length = [](const auto& list) {
    return std::vector<int64_t>{static_cast<int64_t>(list.size())};
  };
  if ((a.kind == K::tensor || a.kind == K::sparse) && a.tensor) {
    node.output_initializer(0, a.tensor);
  } else if (a.kind == K::integer) {
    node.output_constant(0, constant_ints({a.i}, {}));
  } else if (a.kind == K::integers) {
    node.output_constant(0, constant_ints(a.ints, length(a.ints)));
  } else if (a.kind == K::real) {
    node.output_constant(0, constant_floats(std::vector<float>{a.f}, {}));
  } else if (a.kind == K::reals) {
    node.output_constant(0, constant_floats(a.floats, length(a.floats)));
  } else {
    node.reject(fmt::format("a value of this kind ('{}') is not a numeric tensor", name));
  }
}

/// A constant tensor of one element, as a view of shape [].
View one_element(NodeImport& node, const ConstantPtr& data, const std::string& suffix) {
  return node.importer().add_constant(node.output_name(0) + suffix, data->reshaped({}));
}

void constant_of_shape(NodeImport& node) {
  const std::vector<int64_t> shape = node.ints_input(0, "the shape");
  for (const int64_t e : shape) {
    if (e < 0) node.reject("the shape has a negative extent");
  }
  element_count(shape);
  const OnnxAttribute* value = node.attribute("value");
  ConstantPtr data = constant_floats(std::vector<float>{0}, {});
  if (value != nullptr) {
    if (!value->tensor || value->tensor->size() != 1)
      node.reject("attribute 'value' is not a tensor of one element");
    data = value->tensor;
  }
  View view = one_element(node, data, ".value");
  expand(view, shape);
  node.output(0, std::move(view));
}

void shape(NodeImport& node) {
  const View& input = node.input(0);
  const int64_t rank = input.rank();
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = clamp(node.integer("start", 0));
  const int64_t end = clamp(node.integer("end", rank));
  std::vector<int64_t> extents;
  for (int64_t d = start; d < end; ++d) extents.push_back(input.extent(static_cast<int>(d)));
  const auto count = static_cast<int64_t>(extents.size());
  node.output_constant(0, constant_ints(std::move(extents), {count}));
}

void size(NodeImport& node) {
  node.output_constant(0, constant_ints({node.input(0).size()}, {}));
}

void range(NodeImport& node) {
  const ConstantPtr start = node.constant_input(0, "start");
  const ConstantPtr limit = node.constant_input(1, "limit");
  const ConstantPtr delta = node.constant_input(2, "delta");
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    node.reject(fmt::format("start, limit and delta have {}, {} and {} elements, expected one each",
                            start->size(), limit->size(), delta->size()));
  if (delta->as_float(0) == 0) node.reject("delta is 0");
  if (start->integral()) {
    const int64_t a = start->as_int(0), b = limit->as_int(0), step = delta->as_int(0);
    const double exact =
        std::ceil((static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(step));
    if (exact > static_cast<double>(kMaxFoldedElements)) node.reject("the range is too long");
    const auto count = static_cast<int64_t>(std::max(exact, 0.0));
    auto values = room_for<int64_t>(count);
    for (size_t k = 0; k < values.size(); ++k) {  // a product may wrap where the sum does not
      const auto offset = uint64_t{k} * static_cast<uint64_t>(step);
      values[k] = static_cast<int64_t>(static_cast<uint64_t>(a) + offset);
    }
    return node.output_constant(0, constant_ints(std::move(values), {count}, start->type));
  }
  const float a = start->as_float(0), b = limit->as_float(0), step = delta->as_float(0);
  const double exact = std::ceil((static_cast<double>(b) - a) / step);
  if (!(exact <= static_cast<double>(kMaxFoldedElements))) node.reject("the range is too long");
  const auto count = static_cast<int64_t>(std::max(exact, 0.0));
  auto values = room_for<float>(count);
  for (size_t k = 0; k < values.size(); ++k) values[k] = a + static_cast<float>(k) * step;
  node.output_constant(0, constant_values(std::move(values), {count}, start->type));
}

/// Coordinates of the non-zero elements, one column each; only of a constant.
void non_zero(NodeImport& node) {
  const ConstantPtr data = node.deciding_input(0, "the tensor");
  const auto rank = data->shape.size();
  int64_t count = 0;
  for (int64_t i = 0; i < data->size(); ++i) count += data->as_float(i) != 0;
  const std::vector<int64_t> shape = {static_cast<int64_t>(rank), count};
  if (element_count(shape) > kMaxFoldedElements) {
    node.reject(fmt::format("a result of shape [{},{}], expected at most {} elements", rank, count,
                            kMaxFoldedElements));
  }
  auto values = room_for<int64_t>(element_count(shape));
  int64_t column = 0;
  PeriodicStopCheck stop;
  for (int64_t i = 0; i < data->size() && rank > 0; ++i) {
    stop.step();
    if (data->as_float(i) == 0) continue;
    int64_t rest = i;
    for (size_t d = rank; d-- > 0; rest /= data->shape[d])
      values[d * static_cast<size_t>(count) + static_cast<size_t>(column)] = rest % data->shape[d];
    ++column;
  }
  node.output_constant(0, constant_ints(std::move(values), shape));
}

/// 1 on a diagonal of a matrix of the input's shape, 0 elsewhere.
void eye_like(NodeImport& node) {
  const View& like = node.input(0);
  if (like.rank() != 2) node.reject("expected a matrix");
  const int64_t rows = like.extent(0);
  const int64_t columns = like.extent(1);
  const int64_t shift = node.integer("k", 0);
  constexpr int64_t kMost = int64_t{1} << 24;
  if (rows > kMost || columns > kMost || shift < -kMost || shift > kMost)
    node.reject(fmt::format("a matrix of {} x {} and diagonal {}, expected at most {} each", rows,
                            columns, shift, kMost));
  const ElementType type =
      node.has_attribute("dtype") ? node.onnx_type(node.integer("dtype", 1)) : like.type;
  std::vector<std::pair<int64_t, float>> entries;
  stop_unless_room<std::pair<int64_t, float>>(rows);
  for (int64_t i = 0; i < rows; ++i) {
    if (i >= -shift && i < columns - shift) entries.emplace_back(i * columns + i + shift, 1.0F);
  }
  if (rows * columns > kMaxFoldedElements)
    return node.output_constant(0, constant_sparse(std::move(entries), {rows, columns}, type));
  auto values = room_for<float>(rows * columns);
  for (const auto& [place, value] : entries) values[static_cast<size_t>(place)] = value;
  node.output_constant(0, constant_values(std::move(values), {rows, columns}, type));
}

constexpr OperatorRow kConstantsRows[] = {
    {"Constant", constant, "string values", ReadAs::constant},
    {"ConstantOfShape", constant_of_shape, "", ReadAs::constant},
    {"EyeLike", eye_like, "", ReadAs::constant},
    {"NonZero", non_zero, "of values that the program computes", ReadAs::constant},
    {"Range", range, "bounds that are not constant", ReadAs::constant},
    {"Shape", shape, "", ReadAs::constant},
    {"Size", size, "", ReadAs::constant},
};

}  // namespace

std::span<const OperatorRow> constant_operators() {
  return kConstantsRows;
}

}  // namespace fuseflow
