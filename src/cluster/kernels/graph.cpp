#include "cluster/kernels/graph.h"

#include <algorithm>

#include "cluster/kernels/form.h"
#include "cluster/kernels/present_tiles.h"
#include "support/ceil_div.h"
#include "support/text.h"

namespace fuseflow::cluster {

KernelGraphBuilder::KernelGraphBuilder(const KernelTerms& terms, const KernelSizes& block,
                                       int64_t copies)
    : terms_(terms), copies_(copies), made_(terms.terms.size()), made_dims_(terms.terms.size()) {
  dimensions(block);
}

Input KernelGraphBuilder::give(int32_t t, const TileDims& dims) {
  std::optional<Input>& made = made_[static_cast<size_t>(t)];
  if (made) return *made;
  const KernelTerm& at = term(t);
  if (at.kind == KernelTerm::Kind::constant) return *(made = Input{-1, at.constant});
  if (at.kind == KernelTerm::Kind::load) return *(made = load(at, dims));
  if (at.kind == KernelTerm::Kind::coordinate) return *(made = coordinate(at, dims));
  std::vector<Input> inputs;
  for (const int32_t child : at.children) inputs.push_back(give(child, natural(child)));
  return *(made_[static_cast<size_t>(t)] = map(at.op, std::move(inputs), dims, "v"));
}

void KernelGraphBuilder::set_made(int32_t t, Input given, TileDims dims) {
  made_[static_cast<size_t>(t)] = given;
  made_dims_[static_cast<size_t>(t)] = std::move(dims);
  // What a step made is not there after it.
  for (size_t other = 0; other < made_.size(); ++other) {
    if (terms_.terms[other].kind == KernelTerm::Kind::coordinate) made_[other].reset();
  }
}

TileDims KernelGraphBuilder::natural(int32_t t) const {
  std::set<int> dims;
  collect(t, dims);
  return {dims.begin(), dims.end()};
}

void KernelGraphBuilder::collect(int32_t t, std::set<int>& dims) const {
  const KernelTerm& at = term(t);
  const TileDims& known = made_dims_[static_cast<size_t>(t)];
  dims.insert(known.begin(), known.end());
  if (!known.empty()) return;
  for (const int32_t child : at.children) collect(child, dims);
  for (const TileSubscript& subscript : at.subscripts) {
    for (const auto& [digit, factor] : subscript.terms) {
      const KernelDim dim = terms_.digits[static_cast<size_t>(digit)].dim;
      if (dim != kKernelG) dims.insert(dim);
    }
  }
}

Input KernelGraphBuilder::load(const KernelTerm& from, const TileDims& dims, int64_t copies) {
  Node node;
  node.kind = NodeKind::tile_load;
  node.tensor = from.tensor;
  node.tile.subscripts = numbered(from.subscripts);
  node.capacity = copies;
  return add(std::move(node), dims, "x");
}

Input KernelGraphBuilder::coordinate(const KernelTerm& from, const TileDims& dims) {
  Node node;
  node.kind = NodeKind::tile_coordinate;
  node.tile.subscripts = numbered(from.subscripts);
  return add(std::move(node), dims, "at");
}

Input KernelGraphBuilder::map(Op op, std::vector<Input> inputs, const TileDims& dims,
                              std::string name) {
  Node node;
  node.kind = NodeKind::map;
  node.op = op;
  node.inputs = std::move(inputs);
  return add(std::move(node), dims, std::move(name));
}

Input KernelGraphBuilder::add(Node node, const TileDims& dims, std::string name) {
  graph_.nodes.push_back(std::move(node));
  return add_output(dims, std::move(name));
}

Input KernelGraphBuilder::add_output(const TileDims& dims, std::string name) {
  Node& node = graph_.nodes.back();
  Stream stream;
  stream.name = std::move(name);
  stream.indices = stream.block = dims;
  stream.producer = static_cast<NodeId>(graph_.nodes.size()) - 1;
  stream.port = static_cast<int>(node.outputs.size());
  const auto id = static_cast<StreamId>(graph_.streams.size());
  node.outputs.push_back(id);
  graph_.streams.push_back(std::move(stream));
  return {id, 0};
}

void KernelGraphBuilder::store(TensorId tensor, const std::vector<TileSubscript>& at, Input from) {
  Node store;
  store.kind = NodeKind::tile_store;
  store.inputs = {from};
  store.tensor = tensor;
  store.tile.subscripts = numbered(at);
  graph_.nodes.push_back(std::move(store));
}

bool KernelGraphBuilder::spread_columns() {
  GraphIndex& columns = graph_.indices[kKernelN];
  columns.tiling.cluster = static_cast<int>(columns.extent);
  return columns.tiling.cluster > 1;
}

Input KernelGraphBuilder::sum_over_cluster(Input part, const TileDims& dims, std::string name) {
  Node sum;
  sum.kind = NodeKind::reduce_scatter;
  sum.inputs = {part};
  return add(std::move(sum), dims, std::move(name));
}

Input KernelGraphBuilder::reduce_over_cluster(Reduction reduction, Input part, const TileDims& dims,
                                              std::string name) {
  Node reduced;
  reduced.kind = NodeKind::all_reduce;
  reduced.reduction = reduction;
  reduced.inputs = {part};
  return add(std::move(reduced), dims, std::move(name));
}

Graph KernelGraphBuilder::take() {
  name_streams(graph_);
  set_element_bytes(graph_, terms_.element_bytes);
  return std::move(graph_);
}

void KernelGraphBuilder::dimensions(const KernelSizes& block) {
  const KernelSizes sizes = sizes_of(terms_.digits);
  number_.assign(terms_.digits.size(), -1);
  int digits = 0;
  for (int d = 0; d < kKernelDims; ++d) {
    const auto at = static_cast<size_t>(d);
    dimension(d, block[at], sizes[at], digits);
  }
  int64_t inner = 1;
  for (const KernelDigit& digit : terms_.digits) inner *= digit.dim == kKernelL ? digit.extent : 1;
  if (terms_.one_tile_l) dimension(kKernelL, inner, inner, digits);
  graph_.tiles = TileMapping{};
}

void KernelGraphBuilder::dimension(int dim, int64_t block, int64_t size, int& digits_before) {
  GraphIndex index;
  index.name = std::string(1, "mnkgl"[dim]);
  index.block = block;
  index.size = size;
  index.extent = ceil_div(index.size, index.block);
  for (size_t i = 0; i < terms_.digits.size(); ++i) {
    if (static_cast<int>(terms_.digits[i].dim) != dim) continue;
    number_[i] = digits_before++;
    index.tiling.digits.push_back({terms_.digits[i].name, terms_.digits[i].extent});
  }
  if (index.tiling.digits.empty()) {
    index.tiling.digits.push_back({unused("one_" + index.name), 1});
    ++digits_before;
  }
  graph_.indices.push_back(std::move(index));
}

std::string KernelGraphBuilder::unused(const std::string& name) const {
  return unused_name(name, "_", 1, [&](const std::string& other) {
    return std::any_of(terms_.digits.begin(), terms_.digits.end(),
                       [&](const KernelDigit& digit) { return digit.name == other; });
  });
}

std::vector<TileSubscript> KernelGraphBuilder::numbered(
    std::vector<TileSubscript> subscripts) const {
  for (TileSubscript& subscript : subscripts) {
    for (auto& [digit, factor] : subscript.terms) digit = number_[static_cast<size_t>(digit)];
  }
  return subscripts;
}

namespace {

/// On a cluster of `parts` cores each sums a part of k.
Input product_of(KernelGraphBuilder& builder, const KernelForm& form, const KernelTerm& reduce,
                 int64_t gathered, int parts) {
  const auto term = [&](int32_t t) -> const KernelTerm& {
    return form.terms[static_cast<size_t>(t)];
  };
  const KernelTerm& body = term(reduce.children[0]);
  Node node;
  node.kind = NodeKind::tile_multiply;
  node.capacity = gathered;
  node.inputs = {builder.load(term(body.children[0]), {kKernelM, kKernelK}),
                 builder.load(term(body.children[1]), {kKernelK, kKernelN})};
  const Input product = builder.add(std::move(node), {kKernelM, kKernelN}, "c");
  if (parts == 1) return product;
  builder.spread_depth(parts);
  return builder.sum_over_cluster(product, {kKernelM, kKernelN}, "c_sum");
}

/// Of what the first product and the maps after it give, and a load that stays. Columns of several
/// tiles are spread over the cores of a cluster, which sum what they give.
Input second_product_of(KernelGraphBuilder& builder, const KernelForm& form) {
  const auto term = [&](int32_t t) -> const KernelTerm& {
    return form.terms[static_cast<size_t>(t)];
  };
  const KernelTerm& body = term(term(form.second_product).children[0]);
  Node node;
  node.kind = NodeKind::tile_multiply;
  node.inputs = {builder.give(body.children[0], {kKernelM, kKernelN}),
                 builder.load(term(body.children[1]), {kKernelN, kKernelL}, 1)};
  const Input product = builder.add(std::move(node), {kKernelM, kKernelL}, "d");
  if (!builder.spread_columns()) return product;
  return builder.sum_over_cluster(product, {kKernelM, kKernelL}, "d_sum");
}

Input row_reduction_of(KernelGraphBuilder& builder, const KernelTerm& reduce) {
  Node node;
  node.kind = NodeKind::reduce;
  node.inputs = {builder.give(reduce.children[0], {kKernelM, kKernelK})};
  node.reduction = reduce.reduction;
  node.init = identity(reduce.reduction);
  return builder.add(std::move(node), {kKernelM}, "r");
}

/// Leaves out the tiles of the first operand that hold no value; nothing is said where all do.
void leave_tiles_out(Graph& graph, const PresentElements& present) {
  std::vector<std::vector<TileRange>> open =
      present.tiles(graph.indices[kKernelM].block, graph.indices[kKernelK].block);
  const std::vector<TileRange> all{{0, graph.indices[kKernelK].extent}};
  const bool dense =
      std::all_of(open.begin(), open.end(),
                  [&](const std::vector<TileRange>& ranges) { return ranges == all; });
  if (!dense) graph.tiles->open = std::move(open);
}

}  // namespace

Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies,
                   int64_t gathered, const DepthParts& parts) {
  KernelGraphBuilder builder(form, block, copies);
  TileDims whole{kKernelM, kKernelN};
  for (size_t t = 0; t < form.terms.size(); ++t) {
    const KernelTerm& term = form.terms[t];
    if (term.kind != KernelTerm::Kind::reduce) continue;
    if (static_cast<int32_t>(t) == form.second_product) {
      whole = {kKernelM, kKernelL};
      builder.set_made(form.second_product, second_product_of(builder, form), whole);
      continue;
    }
    if (!form.product) whole = {kKernelM};
    builder.set_made(static_cast<int32_t>(t),
                     form.product ? product_of(builder, form, term, gathered, parts.cores)
                                  : row_reduction_of(builder, term),
                     whole);
  }
  builder.store(form.result, form.stored,
                builder.give(static_cast<int32_t>(form.terms.size()) - 1, whole));
  if (parts.clusters > 1) builder.add_in_memory(parts.clusters);
  Graph graph = builder.take();
  if (form.present) leave_tiles_out(graph, *form.present);
  return graph;
}

}  // namespace fuseflow::cluster
