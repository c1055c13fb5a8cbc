// Gather and GatherElements with constant indices: those that are affine in digits of their place
// are views, the others products with 0/1 matrices; rows of constants are copied.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/computed_indices.h"
#include "import/operators/registry.h"
#include "import/values/progression.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

/// Start and step of an affine progression, or nothing.
std::optional<std::pair<int64_t, int64_t>> progression(const std::vector<int64_t>& values) {
  if (values.empty()) return std::nullopt;
  const int64_t step = values.size() > 1 ? values[1] - values[0] : 1;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != step) return std::nullopt;
  }
  if (step == 0) return std::nullopt;
  return std::pair{values[0], step};
}

/// The digits that the indices are affine in (0, 0, 1, 1: each of two rows twice), or nothing.
std::optional<std::vector<Digit>> digits_of(const std::vector<int64_t>& indices) {
  std::vector<std::vector<int64_t>> values;
  values.reserve(indices.size());
  for (const int64_t i : indices) values.push_back({i});
  return affine_digits(std::move(values));
}

/// rows x extent, 1 where row e selects indices[e].
ConstantPtr selection_matrix(const std::vector<int64_t>& indices, std::vector<int64_t> shape,
                             int64_t extent) {
  std::vector<std::pair<int64_t, float>> entries;
  for (size_t e = 0; e < indices.size(); ++e) {
    entries.emplace_back(static_cast<int64_t>(e) * extent + indices[e], 1.0F);
  }
  shape.push_back(extent);
  element_count(shape);
  return constant_sparse(std::move(entries), std::move(shape), ElementType::boolean);
}

/// Rows of a constant, copied.
ConstantPtr gathered(const ConstantTensor& data, const std::vector<int64_t>& indices, int axis) {
  int64_t outer = 1;
  int64_t inner = 1;
  for (int d = 0; d < axis; ++d) outer *= data.shape[static_cast<size_t>(d)];
  for (size_t d = static_cast<size_t>(axis) + 1; d < data.shape.size(); ++d) inner *= data.shape[d];
  const int64_t extent = data.shape[static_cast<size_t>(axis)];
  std::vector<int64_t> shape = data.shape;
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(indices.size());
  const auto copy = [&](const auto& from, auto& to) {
    stop_unless_room<std::decay_t<decltype(from[0])>>(element_count(shape));
    for (int64_t o = 0; o < outer; ++o) {
      stop_if_asked();
      for (const int64_t i : indices) {
        const auto* first = from.data() + (o * extent + i) * inner;
        to.insert(to.end(), first, first + inner);
      }
    }
  };
  if (data.integral()) {
    std::vector<int64_t> ints;
    copy(data.ints(), ints);
    return constant_ints(std::move(ints), std::move(shape), data.type);
  }
  std::vector<float> floats;
  copy(data.floats(), floats);
  return constant_floats(std::move(floats), std::move(shape), data.type);
}

/// Elements `indices` (in range) of dimension `axis` of data, which stands for input 0. The list
/// has the shape `index_shape`.
void gather_along(NodeImport& node, const View& data, int axis, const std::vector<int64_t>& indices,
                  const std::vector<int64_t>& index_shape) {
  const Importer& importer = node.importer();
  std::vector<int64_t> shape = data.shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, index_shape.begin(), index_shape.end());
  const uint64_t size = saturating_product(
      static_cast<uint64_t>(indices.size()),
      static_cast<uint64_t>(data.size() / std::max<int64_t>(1, data.extent(axis))));
  if (element_count(shape) == 0)
    return node.output_constant(0, constant_values({}, shape, data.type));
  View result;
  ConstantPtr constant;
  const auto affine = progression(indices);
  const bool integral = ConstantTensor::is_integral(data.type);
  if (affine && !integral) {
    result = node.sliced(data, axis, affine->first, affine->second,
                         static_cast<int64_t>(indices.size()));
  } else if (size <= static_cast<uint64_t>(kMaxFoldedElements) &&
             (constant = importer.constant_of(data))) {
    const ConstantPtr rows = gathered(*constant, indices, axis)->reshaped(shape);
    node.output_constant(0, rows);
    const bool weights = !rows->integral() && data.rank() >= 2;
    if (weights && importer.from_input(node.input(1))) {
      node.importer().mark_activation(importer.value(node.output_name(0)));
    }
    return;
  } else if (const auto digits = digits_of(indices); digits && !integral) {
    result = picked(node.single_axis(data, axis), axis, indices[0], *digits);
  } else {
    result = select_elements(node, data, indices, axis);
  }
  node.output(0, node.reshaped(result, shape));
  if (affine && !integral && data.parts && data.parts->dim != axis) {
    const int dim = data.parts->dim;
    const int moved = dim < axis ? dim : dim - 1 + static_cast<int>(index_shape.size());
    node.move_parts(data, moved, [&](const View& part) {
      std::vector<int64_t> own = shape;
      own[static_cast<size_t>(moved)] = part.extent(dim);
      return node.reshaped(node.sliced(part, axis, affine->first, affine->second,
                                       static_cast<int64_t>(indices.size())),
                           own);
    });
  }
  const bool by_row = axis == 0 && index_shape.size() == 1;
  if (by_row && !importer.is_constant(data)) {
    node.select_output(
        0, {std::make_shared<const View>(data), indices, std::vector<float>(indices.size(), 1)});
  }
}

void gather(NodeImport& node) {
  const View& data = node.input(0);
  if (data.rank() == 0) node.reject("expected a tensor of rank 1 or more");
  if (has_computed_indices(node)) return gather_computed(node);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  const ConstantPtr index = node.constant_input(1, "the indices");
  gather_along(node, data, axis,
               checked_indices(node, node.ints_input(1, "the indices"), data.extent(axis)),
               index->shape);
}

/// Blocks by tuples of indices: elements of the dimensions that the tuples index, taken as one.
void gather_nd(NodeImport& node) {
  if (has_computed_indices(node)) return gather_nd_computed(node);
  const View& data = node.input(0);
  const ConstantPtr index = node.constant_input(1, "the indices");
  const auto indices = node.ints_input(1, "the indices");
  const int64_t batch = node.integer("batch_dims", 0);
  const int64_t depth = index->shape.empty() ? 0 : index->shape.back();
  const auto rank = static_cast<int64_t>(index->shape.size());
  if (batch < 0 || batch >= rank || depth < 1 || batch + depth > data.rank()) {
    node.reject(fmt::format("indices of shape [{}] do not fit data of shape [{}]",
                            fmt::join(index->shape, ","), fmt::join(data.shape(), ",")));
  }
  for (int d = 0; d < batch; ++d) {
    if (index->shape[static_cast<size_t>(d)] != data.extent(d))
      node.reject(fmt::format("batch dimension {} has extents {} and {}", d,
                              index->shape[static_cast<size_t>(d)], data.extent(d)));
  }
  const std::vector<int64_t> to(index->shape.begin(), index->shape.end() - 1);
  const IndexedBlocks blocks = indexed_blocks(node, data, static_cast<int>(batch), depth, indices);
  gather_along(node, node.reshaped(data, blocks.shape), 0, blocks.places, to);
}

/// y[i, j] = x[index[i, j], j]: a product with a 0/1 tensor over all of y and the source dimension.
void gather_elements(NodeImport& node) {
  const View& data = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  if (gather_ranked(node)) return;
  if (has_computed_indices(node)) return gather_elements_computed(node);
  const ConstantPtr index_data = node.constant_input(1, "the indices");
  const int64_t extent = data.extent(axis);
  const auto indices = checked_indices(node, node.ints_input(1, "the indices"), extent);
  const int rank = data.rank();
  if (static_cast<int>(index_data->shape.size()) != rank)
    node.reject("indices and data differ in rank");
  ConstantPtr matrix = selection_matrix(indices, index_data->shape, extent);
  View source = data;
  for (int d = 0; d < rank; ++d) {
    const int64_t wanted = index_data->shape[static_cast<size_t>(d)];
    if (d != axis && wanted > data.extent(d)) {
      node.reject(
          fmt::format("indices have extent {} in dimension {}, expected at most {}, as data",
                      wanted, d, data.extent(d)));
    }
    if (d != axis) source = node.sliced(source, d, 0, 1, wanted);
  }
  const View chosen = derived_constant(node, "select", std::move(matrix));
  std::vector<int> labels = all_labels(rank);
  labels.push_back(kSource);
  node.define(0, chosen_sum(node, chosen, labels, source, axis));
}

/// The elements along an axis (of all elements, without one) that a list of booleans keeps.
void compress(NodeImport& node) {
  View data = node.input(0);
  int axis = 0;
  if (node.has_attribute("axis"))
    axis = node.axis(node.integer("axis", 0), data.rank());
  else
    data = node.reshaped(data, {data.size()});
  const ConstantPtr kept = node.deciding_input(1, "the condition");
  if (kept->shape.size() != 1 || kept->size() > data.extent(axis)) {
    node.reject(fmt::format("a condition of shape [{}], expected a list of at most {}",
                            fmt::join(kept->shape, ","), data.extent(axis)));
  }
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < kept->size(); ++i) {
    if (kept->as_float(i) != 0) indices.push_back(i);
  }
  gather_along(node, data, axis, indices, {static_cast<int64_t>(indices.size())});
}

/// Each sequence backwards up to its length; its steps after that stay.
void reverse_sequence(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 2) node.reject("expected a tensor of rank 2 or more");
  const int time = node.axis(node.integer("time_axis", 0), x.rank());
  const int batch = node.axis(node.integer("batch_axis", 1), x.rank());
  const int64_t steps = x.extent(time);
  const auto lengths = node.ints_input(1, "the lengths of the sequences");
  if (time == batch || static_cast<int64_t>(lengths.size()) != x.extent(batch)) {
    node.reject(
        fmt::format("{} lengths of sequences along axis {} in a batch along axis {} of [{}]",
                    lengths.size(), time, batch, fmt::join(x.shape(), ",")));
  }
  std::vector<int64_t> places;
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > steps)
      node.reject(fmt::format("a sequence of length {}, expected 0 to {}", lengths[b], steps));
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t from = t < lengths[b] ? lengths[b] - 1 - t : t;
      places.push_back(static_cast<int64_t>(b) * steps + from);
    }
  }
  if (x.size() == 0) return node.output(0, x);
  // The two dimensions in front and as one; then back.
  std::vector<int> order = {batch, time};
  for (int d = 0; d < x.rank(); ++d) {
    if (d != batch && d != time) order.push_back(d);
  }
  View turned = x;
  transpose(turned, order);
  std::vector<int64_t> shape = turned.shape();
  std::vector<int64_t> rows(shape.begin() + 2, shape.end());
  rows.insert(rows.begin(), shape[0] * shape[1]);
  View result = node.reshaped(select_elements(node, node.reshaped(turned, rows), places, 0), shape);
  std::vector<int> back(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    back[static_cast<size_t>(order[d])] = static_cast<int>(d);
  transpose(result, back);
  node.output(0, std::move(result));
}

constexpr OperatorRow kGatherRows[] = {
    {"Compress", compress, "a condition that the program computes"},
    {"Gather", gather, "computed indices: more than 8192 places"},
    {"GatherElements", gather_elements, "computed indices: more than 8192 places"},
    {"GatherND", gather_nd, "computed indices: more than 8192 places, batches"},
    {"ReverseSequence", reverse_sequence, "lengths of sequences that are not constant"},
};

}  // namespace

/// A product with a 0/1 matrix; a statement, so that it is done once.
View select_elements(NodeImport& node, const View& data, const std::vector<int64_t>& indices,
                     int axis) {
  const View matrix = derived_constant(
      node, "select",
      selection_matrix(indices, {static_cast<int64_t>(indices.size())}, data.extent(axis)));
  return node.helper("rows", chosen_sum(node, matrix, {axis, kSource}, data, axis));
}

View gathered_elements(NodeImport& node, const View& data, const std::vector<int64_t>& indices,
                       int axis) {
  if (const auto affine = progression(indices)) {
    const auto count = static_cast<int64_t>(indices.size());
    return node.sliced(data, axis, affine->first, affine->second, count);
  }
  if (const auto digits = digits_of(indices))
    return picked(node.single_axis(data, axis), axis, indices[0], *digits);
  return select_elements(node, data, indices, axis);
}

std::span<const OperatorRow> gather_operators() {
  return kGatherRows;
}

}  // namespace fuseflow
