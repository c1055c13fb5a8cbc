// Scatter, ScatterElements and ScatterND with constant indices: products with 0/1 matrices; a
// scatter of a weighted gather is one product with a sparse matrix; constants are written at
// import.
#include <fmt/format.h>

#include <optional>
#include <set>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/error.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

/// A scatter along one dimension after normalisation: target[e] of the flattened leading indices.
struct Scatter {
  std::vector<int64_t> targets;  ///< where update e goes
  int64_t extent = 0;            ///< of the dimension that is written
  bool add = false;
};

bool adds(NodeImport& node) {
  const std::string reduction = node.text("reduction", "none");
  if (reduction != "none" && reduction != "add")
    node.reject("reduction '" + reduction + "' is not supported, expected none or add");
  return reduction == "add";
}

/// PyTorch's exporter loses the reduction: of scatter_add in opsets without the attribute, and of
/// index_put(accumulate=True) in all. A model of opset 16 can only have lost the latter.
void warn_of_repeats(const NodeImport& node, const std::vector<int64_t>& positions) {
  const char* advice =
      node.opset() >= 16
          ? "PyTorch exports index_put(accumulate=True) without it; write "
            "scatter_add (or index_add) in the model and export again"
          : "PyTorch exports scatter_add without it below opset 16; export with opset 16 or newer, "
            "and write scatter_add in the place of index_put(accumulate=True)";
  std::set<int64_t> seen;
  for (const int64_t p : positions) {
    if (seen.insert(p).second) continue;
    report(
        Severity::warning,
        fmt::format(
            "node '{}' ({}): several updates write one element and the last one is kept, because "
            "the node has no reduction. If they should add up: {}",
            node.onnx().name, node.onnx().op, advice));
    return;
  }
}

/// All constant: done at import. position[u] is the element that update u goes to.
ConstantPtr scattered(const ConstantTensor& data, const ConstantTensor& updates,
                      const std::vector<int64_t>& positions, bool add) {
  if (data.integral()) {
    std::vector<int64_t> ints = data.ints();
    for (size_t u = 0; u < positions.size(); ++u) {
      int64_t& element = ints[static_cast<size_t>(positions[u])];
      const auto old = static_cast<uint64_t>(add ? element : 0);  // wraps
      const auto update = static_cast<uint64_t>(updates.as_int(static_cast<int64_t>(u)));
      element = narrowed(static_cast<int64_t>(old + update), data.type);
    }
    return constant_ints(std::move(ints), data.shape, data.type);
  }
  std::vector<float> floats = data.floats().to_vector();
  for (size_t u = 0; u < positions.size(); ++u) {
    float& element = floats[static_cast<size_t>(positions[u])];
    element = (add ? element : 0) + updates.as_float(static_cast<int64_t>(u));
  }
  return constant_floats(std::move(floats), data.shape, data.type);
}

bool all_zero(const NodeImport& node, int input) {
  const ConstantPtr data = node.try_constant(input);
  if (!data) return false;
  for (int64_t i = 0; i < data->size(); ++i) {
    if (data->as_float(i) != 0) return false;
  }
  return true;
}

/// The linear position of every update of a ScatterElements.
std::vector<int64_t> element_positions(const ConstantTensor& index,
                                       const std::vector<int64_t>& indices,
                                       const std::vector<int64_t>& shape, int axis) {
  std::vector<int64_t> positions;
  std::vector<int64_t> at(shape.size(), 0);
  for (const int64_t target : indices) {
    int64_t p = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      p = p * shape[d] + (static_cast<int>(d) == axis ? target : at[d]);
    }
    positions.push_back(p);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < index.shape[d]) break;
      at[d] = 0;
    }
  }
  return positions;
}

/// Whether the target depends on the coordinate along `axis` alone; gives it by that coordinate.
std::optional<std::vector<int64_t>> targets_by_row(const ConstantTensor& index,
                                                   const std::vector<int64_t>& indices, int axis) {
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < index.shape.size(); ++d)
    inner *= index.shape[d];
  const int64_t rows = index.shape[static_cast<size_t>(axis)];
  std::vector<int64_t> targets(static_cast<size_t>(rows), -1);
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t& t = targets[static_cast<size_t>((static_cast<int64_t>(i) / inner) % rows)];
    if (t >= 0 && t != indices[i]) return std::nullopt;
    t = indices[i];
  }
  return targets;
}

/// y = data + A x, where A gathers the weights of updates that are a weighted selection of x.
void scatter_selection(NodeImport& node, const View& data, const Selection& s,
                       const Scatter& scatter, bool zero) {
  const View& x = *s.source;
  const int64_t columns = x.extent(0);
  std::vector<std::pair<int64_t, float>> entries;
  for (size_t e = 0; e < s.rows.size(); ++e) {
    entries.emplace_back(scatter.targets[e] * columns + s.rows[e], s.weights[e]);
  }
  const View adjacency = derived_constant(
      node, "adjacency",
      constant_sparse(std::move(entries), {scatter.extent, columns}, ElementType::f32));
  Kernel k = node.kernel();
  std::vector<int> labels = all_labels(x.rank());
  labels[0] = kSource;
  const int a = k.operand(adjacency, {0, kSource});
  const int b = k.operand(x, labels);
  const int c = zero ? -1 : k.operand(data, all_labels(data.rank()));
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  int32_t root = k.reduce(Reduction::sum, {kSource}, k.apply(Op::mul, {left, right}));
  if (!zero) {
    const int32_t old = k.use(c);
    root = k.apply(Op::add, {old, root});
  }
  node.define(0, k.result(all_labels(x.rank()), root, data.type));
}

/// The general form: data + sum over updates (or instead of data where one arrives).
void scatter_product(NodeImport& node, const View& data, const View& updates, const View& matrix,
                     const std::vector<int>& matrix_labels, const std::vector<int>& update_labels,
                     const std::vector<int>& summed, const Scatter& scatter, bool zero,
                     const View* hit, const std::vector<int>& hit_labels) {
  Kernel k = node.kernel();
  const int p = k.operand(matrix, matrix_labels);
  const int u = k.operand(updates, update_labels);
  const int d = zero ? -1 : k.operand(data, all_labels(data.rank()));
  const int h = hit != nullptr ? k.operand(*hit, hit_labels) : -1;
  const int32_t chosen = k.use(p);
  const int32_t value = k.use(u);
  const int32_t picked = k.apply(Op::where, {chosen, value, k.constant(0)});
  int32_t root = k.reduce(Reduction::sum, summed, picked);
  if (!zero) {
    const int32_t old = k.use(d);
    if (scatter.add)
      root = k.apply(Op::add, {old, root});
    else {
      const int32_t here = k.use(h);
      root = k.apply(Op::where, {here, root, old});
    }
  }
  std::vector<int> labels = all_labels(data.rank());
  for (int dim = 0; dim < data.rank(); ++dim) {
    if (data.extent(dim) == 1) labels[static_cast<size_t>(dim)] = -1;
  }
  node.define(0, k.result(labels, root, data.type));
}

/// Without a reduction the last update wins: earlier ones to the same place are dropped.
std::vector<bool> last_updates(const std::vector<int64_t>& positions) {
  std::vector<bool> kept(positions.size(), false);
  std::set<int64_t> seen;
  for (size_t e = positions.size(); e-- > 0;) kept[e] = seen.insert(positions[e]).second;
  return kept;
}

/// Rows of `data` along `axis` are written by rows of the updates.
void scatter_rows(NodeImport& node, int axis, const Scatter& scatter, const View& updates) {
  const View& data = node.input(0);
  const bool zero = all_zero(node, 0);
  if (scatter.add && axis == 0 && updates.selection) {
    return scatter_selection(node, data, *updates.selection, scatter, zero);
  }
  const auto rows = static_cast<int64_t>(scatter.targets.size());
  const std::vector<bool> kept =
      scatter.add ? std::vector<bool>(scatter.targets.size(), true) : last_updates(scatter.targets);
  std::vector<std::pair<int64_t, float>> matrix;
  std::vector<int64_t> hit(static_cast<size_t>(scatter.extent), 0);
  for (int64_t e = 0; e < rows; ++e) {
    const int64_t target = scatter.targets[static_cast<size_t>(e)];
    if (kept[static_cast<size_t>(e)]) matrix.emplace_back(target * rows + e, 1.0F);
    hit[static_cast<size_t>(target)] = 1;
  }
  const View chosen = derived_constant(
      node, "place",
      constant_sparse(std::move(matrix), {scatter.extent, rows}, ElementType::boolean));
  const View here = derived_constant(
      node, "hit", constant_ints(std::move(hit), {scatter.extent}, ElementType::boolean));
  std::vector<int> update_labels = all_labels(data.rank());
  update_labels[static_cast<size_t>(axis)] = kSource;
  scatter_product(node, data, updates, chosen, {axis, kSource}, update_labels, {kSource}, scatter,
                  zero, scatter.add ? nullptr : &here, {axis});
}

/// Targets that differ between columns: updates and data as vectors.
void scatter_flat(NodeImport& node, const std::vector<int64_t>& positions, bool add) {
  const View& data = node.input(0);
  const View& updates = node.input(2);
  Scatter scatter{positions, data.size(), add};
  const auto count = static_cast<int64_t>(positions.size());
  const std::vector<bool> kept =
      add ? std::vector<bool>(positions.size(), true) : last_updates(positions);
  if (data.size() > kMaxFoldedElements) node.reject("the scatter is too large");
  std::vector<std::pair<int64_t, float>> matrix;
  std::vector<int64_t> hit(static_cast<size_t>(data.size()), 0);
  for (int64_t e = 0; e < count; ++e) {
    const int64_t target = positions[static_cast<size_t>(e)];
    if (kept[static_cast<size_t>(e)]) matrix.emplace_back(target * count + e, 1.0F);
    hit[static_cast<size_t>(target)] = 1;
  }
  std::vector<int64_t> shape = data.shape();
  const std::vector<int64_t> update_shape = updates.shape();
  shape.insert(shape.end(), update_shape.begin(), update_shape.end());
  const View chosen = derived_constant(
      node, "place", constant_sparse(std::move(matrix), shape, ElementType::boolean));
  const View here = derived_constant(
      node, "hit", constant_ints(std::move(hit), data.shape(), ElementType::boolean));
  std::vector<int> summed;
  std::vector<int> labels = all_labels(data.rank());
  summed.reserve(updates.rank());
  for (int d = 0; d < updates.rank(); ++d) summed.push_back(kSource + d);
  labels.insert(labels.end(), summed.begin(), summed.end());
  scatter_product(node, data, updates, chosen, labels, summed, summed, scatter, all_zero(node, 0),
                  add ? nullptr : &here, all_labels(data.rank()));
}

void scatter_elements(NodeImport& node) {
  const View& data = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  const bool add = adds(node);
  if (scatter_ranked(node, add)) return;
  const ConstantPtr index = node.constant_input(1, "the indices");
  const auto indices = checked_indices(node, node.ints_input(1, "the indices"), data.extent(axis));
  const View& updates = node.input(2);
  if (index->shape != updates.shape() || updates.rank() != data.rank())
    node.reject("indices, updates and data do not fit");
  for (int d = 0; d < data.rank(); ++d) {
    if (d != axis && updates.extent(d) > data.extent(d)) node.reject("the updates exceed the data");
  }
  if (updates.size() == 0) return node.output(0, data);
  const auto positions = element_positions(*index, indices, data.shape(), axis);
  if (!add) warn_of_repeats(node, positions);
  const ConstantPtr old = node.try_constant(0);
  const ConstantPtr fresh = node.try_constant(2);
  if (old && fresh) return node.output_constant(0, scattered(*old, *fresh, positions, add));
  bool full = true;
  for (int d = 0; d < data.rank(); ++d)
    full = full && (d == axis || updates.extent(d) == data.extent(d));
  const auto targets = targets_by_row(*index, indices, axis);
  if (!full || !targets) return scatter_flat(node, positions, add);
  scatter_rows(node, axis, {*targets, data.extent(axis), add}, updates);
}

/// Linear positions (in units of the inner block) of the index tuples of a ScatterND.
std::vector<int64_t> tuple_positions(const NodeImport& node, const std::vector<int64_t>& indices,
                                     int64_t depth, const View& data) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < indices.size(); i += static_cast<size_t>(depth)) {
    int64_t p = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t extent = data.extent(static_cast<int>(d));
      const int64_t at = checked_indices(node, {indices[i + static_cast<size_t>(d)]}, extent)[0];
      p = p * extent + at;
    }
    positions.push_back(p);
  }
  return positions;
}

void scatter_nd(NodeImport& node) {
  const View& data = node.input(0);
  const bool add = adds(node);
  const ConstantPtr index = node.constant_input(1, "the indices");
  const auto indices = node.ints_input(1, "the indices");
  const int64_t depth = index->shape.empty() ? 0 : index->shape.back();
  if (depth < 1 || depth > data.rank()) node.reject("the indices do not fit the data");
  const auto tuples = tuple_positions(node, indices, depth, data);
  if (!add) warn_of_repeats(node, tuples);
  std::vector<int64_t> rest;
  int64_t inner = 1;
  for (int d = static_cast<int>(depth); d < data.rank(); ++d) {
    rest.push_back(data.extent(d));
    inner *= data.extent(d);
  }
  const auto count = static_cast<int64_t>(tuples.size());
  if (node.input(2).size() != count * inner) node.reject("the updates do not fit the indices");
  if (node.input(2).size() == 0) return node.output(0, data);
  const ConstantPtr old = node.try_constant(0);
  const ConstantPtr fresh = node.try_constant(2);
  if (old && fresh) {
    std::vector<int64_t> positions;
    for (const int64_t t : tuples) {
      for (int64_t k = 0; k < inner; ++k) positions.push_back(t * inner + k);
    }
    return node.output_constant(0, scattered(*old, *fresh, positions, add));
  }
  if (depth > 1)
    node.reject(
        "index tuples of more than one element, of tensors that are not constant, are not "
        "supported");
  std::vector<int64_t> shape = {count};
  shape.insert(shape.end(), rest.begin(), rest.end());
  scatter_rows(node, 0, {tuples, data.extent(0), add}, node.reshaped(node.input(2), shape));
}

constexpr OperatorRow kScatterRows[] = {
    {"Scatter", scatter_elements, "indices that are neither constant nor of a TopK"},
    {"ScatterElements", scatter_elements,
     "indices that are neither constant nor of a TopK; reductions mul, min, max"},
    {"ScatterND", scatter_nd,
     "indices that are not constant; longer index tuples unless all is constant"},
};

}  // namespace

std::span<const OperatorRow> scatter_operators() {
  return kScatterRows;
}

}  // namespace fuseflow
