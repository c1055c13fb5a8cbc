// Scatter, ScatterElements and ScatterND with constant indices: products with 0/1 matrices; a
// scatter of a weighted gather is one product with a sparse matrix; constants are written at
// import.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/computed_indices.h"
#include "import/operators/registry.h"
#include "import/operators/scatter.h"
#include "import/operators/wrapping.h"
#include "support/error.h"
#include "support/text.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

/// Whether all updates are one number: no access depends on where the update is.
bool is_one_number(const View& updates) {
  return std::all_of(updates.nodes.begin(), updates.nodes.end(), [](const Expr& node) {
    return node.kind != Expr::Kind::coordinate &&
           std::all_of(node.subscripts.begin(), node.subscripts.end(),
                       [](const Subscript& s) { return s.terms.empty(); });
  });
}

/// max and min below opset 18, which do not define them: PyTorch's tracing exporter writes them all
/// the same. Its scatter_reduce(include_self=False) first scatters one number, the least update (or
/// the largest), to reset the elements that updates reach; with this reduction that does nothing,
/// so it is read as what it is for.
Update undefined_extreme(const NodeImport& node, Update update) {
  const bool resets = is_one_number(node.input(2));
  report(Severity::warning,
         fmt::format("node '{}' ({}): reductions max and min are not defined in opset {}; read as "
                     "opset 18 defines them{}. Export with dynamo=True, or with opset 18",
                     shown(node.onnx().name), node.onnx().op, node.opset(),
                     resets ? ", and this one, whose updates are all one number, as the reset of "
                              "PyTorch's include_self=False"
                            : ""));
  return resets ? Update::replace : update;
}

}  // namespace

Update update_of(const NodeImport& node) {
  const std::string reduction = node.text("reduction", "none");
  if (reduction == "none") return Update::replace;
  if (reduction == "add") return Update::add;
  if (reduction == "mul") return Update::multiply;
  if (reduction != "max" && reduction != "min") {
    node.reject(fmt::format("reduction '{}' is unknown, expected none, add, mul, max or min",
                            shown(reduction)));
  }
  const Update update = reduction == "max" ? Update::largest : Update::least;
  return node.opset() >= 18 ? update : undefined_extreme(node, update);
}

UpdateRule joining_of(Update update) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  switch (update) {
    case Update::multiply:
      return {Reduction::prod, Op::mul, 1};
    case Update::largest:
      return {Reduction::max, Op::max, -kInfinite};
    case Update::least:
      return {Reduction::min, Op::min, kInfinite};
    case Update::replace:
    case Update::add:
      break;
  }
  return {};
}

namespace {

/// PyTorch's exporter loses the reduction: of scatter_add in opsets without the attribute, and of
/// index_put(accumulate=True) in all. A model of opset 16 can only have lost the latter. A reset
/// has one number for all.
void warn_of_repeats(const NodeImport& node, const std::vector<int64_t>& positions) {
  if (node.text("reduction", "none") != "none") return;
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

/// Whole numbers, which wrap.
int64_t updated(int64_t old, int64_t update, Update how) {
  const auto a = static_cast<uint64_t>(old);
  const auto b = static_cast<uint64_t>(update);
  switch (how) {
    case Update::add:
      return static_cast<int64_t>(a + b);
    case Update::multiply:
      return static_cast<int64_t>(a * b);
    case Update::largest:
      return std::max(old, update);
    case Update::least:
      return std::min(old, update);
    case Update::replace:
      break;
  }
  return update;
}

/// All constant: done at import. position[u] is the element that update u goes to.
ConstantPtr scattered(const ConstantTensor& data, const ConstantTensor& updates,
                      const std::vector<int64_t>& positions, Update how) {
  if (data.integral()) {
    std::vector<int64_t> ints = data.ints();
    for (size_t u = 0; u < positions.size(); ++u) {
      int64_t& element = ints[static_cast<size_t>(positions[u])];
      element = narrowed(updated(element, updates.as_int(static_cast<int64_t>(u)), how), data.type);
    }
    return constant_ints(std::move(ints), data.shape, data.type);
  }
  std::vector<float> floats = data.floats().to_vector();
  const Op op = joining_of(how).op;
  for (size_t u = 0; u < positions.size(); ++u) {
    float& element = floats[static_cast<size_t>(positions[u])];
    const float update = updates.as_float(static_cast<int64_t>(u));
    element = how == Update::replace ? update : evaluate(op, std::vector<float>{element, update});
  }
  return constant_values(std::move(floats), data.shape, data.type);
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
  node.importer().mark_selects(adjacency);
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
  define_computed(node, k, all_labels(x.rank()), root, data.type);
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
  const UpdateRule joining = joining_of(scatter.update);
  const int32_t picked = k.apply(Op::where, {chosen, value, k.constant(joining.none)});
  int32_t root = k.reduce(joining.reduction, summed, picked);
  const bool sum = joining.op == Op::add;
  if (!zero || !sum) {
    const int32_t old = zero ? k.constant(0) : k.use(d);
    if (scatter.update != Update::replace)
      root = k.apply(joining.op, {old, root});
    else {
      const int32_t here = k.use(h);
      root = k.apply(Op::where, {here, root, old});
    }
  }
  std::vector<int> labels = all_labels(data.rank());
  for (int dim = 0; dim < data.rank(); ++dim) {
    if (data.extent(dim) == 1) labels[static_cast<size_t>(dim)] = -1;
  }
  if (scatter.update == Update::replace) return node.define(0, k.result(labels, root, data.type));
  define_computed(node, k, labels, root, data.type);
}

/// Without a reduction the last update wins: earlier ones to the same place are dropped.
std::vector<bool> last_updates(const std::vector<int64_t>& positions) {
  std::vector<bool> kept(positions.size(), false);
  std::set<int64_t> seen;
  for (size_t e = positions.size(); e-- > 0;) kept[e] = seen.insert(positions[e]).second;
  return kept;
}

}  // namespace

/// Rows of `data` along `axis` are written by rows of the updates.
void scatter_rows(NodeImport& node, const View& data, int axis, const Scatter& scatter,
                  const View& updates) {
  const bool zero = all_zero(node, 0);
  const bool replaces = scatter.update == Update::replace;
  if (scatter.update == Update::add && axis == 0 && updates.selection) {
    return scatter_selection(node, data, *updates.selection, scatter, zero);
  }
  const auto rows = static_cast<int64_t>(scatter.targets.size());
  const std::vector<bool> kept =
      replaces ? last_updates(scatter.targets) : std::vector<bool>(scatter.targets.size(), true);
  std::vector<std::pair<int64_t, float>> matrix;
  auto hit = room_for<int64_t>(scatter.extent);
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
                  zero, replaces ? &here : nullptr, {axis});
}

namespace {

bool depends_on(const Expr& e, IndexId atom) {
  if (e.kind == Expr::Kind::coordinate && e.index == atom) return true;
  if (std::find(e.over.begin(), e.over.end(), atom) != e.over.end()) return true;
  return std::any_of(e.subscripts.begin(), e.subscripts.end(), [&](const Subscript& s) {
    return std::any_of(s.terms.begin(), s.terms.end(),
                       [&](const auto& term) { return term.first == atom; });
  });
}

/// Targets that differ between columns: updates and data as vectors.
void scatter_flat(NodeImport& node, const std::vector<int64_t>& positions, Update update) {
  const View& data = node.input(0);
  const View& updates = node.input(2);
  const Scatter scatter{positions, data.size(), update};
  const bool replaces = update == Update::replace;
  const auto count = static_cast<int64_t>(positions.size());
  const std::vector<bool> kept =
      replaces ? last_updates(positions) : std::vector<bool>(positions.size(), true);
  if (data.size() > kMaxFoldedElements) node.reject("the scatter is too large");
  std::vector<std::pair<int64_t, float>> matrix;
  auto hit = room_for<int64_t>(data.size());
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
                  replaces ? &here : nullptr, all_labels(data.rank()));
}

/// The targets by the coordinate along `axis`, where the other dimensions only repeat them: what a
/// list of nodes is expanded to has many elements, the list has few.
std::optional<std::vector<int64_t>> repeated_targets(const NodeImport& node, int axis) {
  View list = node.input(1);
  for (int d = 0; d < list.rank(); ++d) {
    if (d == axis) continue;
    for (const IndexId atom : list.dims[static_cast<size_t>(d)]) {
      if (std::any_of(list.nodes.begin(), list.nodes.end(),
                      [&](const Expr& e) { return depends_on(e, atom); }))
        return std::nullopt;
    }
    list.dims[static_cast<size_t>(d)].clear();
  }
  const ConstantPtr targets = node.importer().constant_of(list);
  if (!targets) return std::nullopt;
  return checked_indices(node, targets->as_ints(), node.input(0).extent(axis));
}

void scatter_elements(NodeImport& node) {
  const View& data = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  const Update update = update_of(node);
  const bool ranked = update == Update::replace || update == Update::add;
  if (ranked && scatter_ranked(node, update == Update::add)) return;
  if (has_computed_indices(node)) return scatter_elements_computed(node, update);
  const View& updates = node.input(2);
  if (node.input(1).shape() != updates.shape() || updates.rank() != data.rank())
    node.reject("indices, updates and data do not fit");
  bool full = true;
  for (int d = 0; d < data.rank(); ++d) {
    if (d == axis) continue;
    if (updates.extent(d) > data.extent(d)) node.reject("the updates exceed the data");
    full = full && updates.extent(d) == data.extent(d);
  }
  if (updates.size() == 0) return node.output(0, data);
  const ConstantPtr fresh = node.try_constant(2);
  const ConstantPtr old = fresh ? node.try_constant(0) : nullptr;
  if (const auto targets = repeated_targets(node, axis);
      targets && full && !old && update != Update::replace) {
    return scatter_rows(node, data, axis, {*targets, data.extent(axis), update}, updates);
  }
  const ConstantPtr index = node.constant_input(1, "the indices");
  const auto indices = checked_indices(node, node.ints_input(1, "the indices"), data.extent(axis));
  const auto positions = element_positions(*index, indices, data.shape(), axis);
  if (update == Update::replace) warn_of_repeats(node, positions);
  if (old && fresh) return node.output_constant(0, scattered(*old, *fresh, positions, update));
  const auto targets = targets_by_row(*index, indices, axis);
  if (!full || !targets) return scatter_flat(node, positions, update);
  scatter_rows(node, data, axis, {*targets, data.extent(axis), update}, updates);
}

void scatter_nd(NodeImport& node) {
  const View& data = node.input(0);
  const Update update = update_of(node);
  if (has_computed_indices(node)) return scatter_nd_computed(node, update);
  const ConstantPtr index = node.constant_input(1, "the indices");
  const auto indices = node.ints_input(1, "the indices");
  const int64_t depth = index->shape.empty() ? 0 : index->shape.back();
  if (depth < 1 || depth > data.rank()) node.reject("the indices do not fit the data");
  const IndexedBlocks blocks = indexed_blocks(node, data, 0, depth, indices);
  if (update == Update::replace) warn_of_repeats(node, blocks.places);
  const auto count = static_cast<int64_t>(blocks.places.size());
  std::vector<int64_t> shape = blocks.shape;
  shape[0] = count;
  const int64_t inner = element_count({shape.begin() + 1, shape.end()});
  if (node.input(2).size() != count * inner) node.reject("the updates do not fit the indices");
  if (node.input(2).size() == 0) return node.output(0, data);
  const ConstantPtr old = node.try_constant(0);
  const ConstantPtr fresh = node.try_constant(2);
  if (old && fresh) {
    std::vector<int64_t> positions;
    for (const int64_t t : blocks.places) {
      for (int64_t k = 0; k < inner; ++k) positions.push_back(t * inner + k);
    }
    return node.output_constant(0, scattered(*old, *fresh, positions, update));
  }
  const View rows = node.reshaped(data, blocks.shape);
  scatter_rows(node, rows, 0, {blocks.places, blocks.shape[0], update},
               node.reshaped(node.input(2), shape));
  if (depth > 1)
    node.output(0, node.reshaped(node.importer().value(node.output_name(0)), data.shape()));
}

constexpr const char* kComputedNote = "computed indices: more than 8192 places";

constexpr OperatorRow kScatterRows[] = {
    {"Scatter", scatter_elements, kComputedNote},
    {"ScatterElements", scatter_elements, kComputedNote},
    {"ScatterND", scatter_nd, kComputedNote},
};

}  // namespace

std::span<const OperatorRow> scatter_operators() {
  return kScatterRows;
}

}  // namespace fuseflow
