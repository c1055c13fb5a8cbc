#include "cluster/kernels/graph.h"

#include <algorithm>

#include "cluster/kernels/form.h"
#include "cluster/kernels/present_tiles.h"

namespace fuseflow::cluster {

KernelGraphBuilder::KernelGraphBuilder(const KernelTerms& terms, const KernelSizes& block,
                                       int64_t copies)
    : TileGraphBuilder(digits_of_loops(terms.digits)),
      terms_(terms),
      copies_(copies),
      made_(terms.terms.size()),
      made_dims_(terms.terms.size()) {
  const auto add_dimension = [&](int dim, int64_t size) {
    dimension(std::string(1, "mnkgl"[dim]),
              loops_that(terms.digits, [&](const KernelDigit& d) { return d.dim == dim; }), size);
  };
  for (int dim = 0; dim < kKernelDims; ++dim) add_dimension(dim, block[static_cast<size_t>(dim)]);
  int64_t inner = 1;
  for (const KernelDigit& digit : terms.digits) inner *= digit.dim == kKernelL ? digit.extent : 1;
  if (terms.one_tile_l) add_dimension(kKernelL, inner);
}

Input KernelGraphBuilder::give(int32_t t, const TileDims& dims) {
  std::optional<Input>& made = made_[static_cast<size_t>(t)];
  if (made) return *made;
  const KernelTerm& at = term(t);
  if (at.kind == KernelTerm::Kind::constant) return *(made = Input{-1, at.constant});
  if (at.kind == KernelTerm::Kind::load) return *(made = load_term(at, dims, copies_));
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

Input KernelGraphBuilder::coordinate(const KernelTerm& from, const TileDims& dims) {
  Node at = node(NodeKind::tile_coordinate, {});
  at.tile.subscripts = numbered(from.subscripts);
  return add(std::move(at), dims, "at");
}

bool KernelGraphBuilder::spread_columns() {
  GraphIndex& columns = graph_.indices[kKernelN];
  columns.tiling.cluster = static_cast<int>(columns.extent);
  return columns.tiling.cluster > 1;
}

Input KernelGraphBuilder::sum_over_cluster(Input part, const TileDims& dims, std::string name) {
  return add(node(NodeKind::reduce_scatter, {part}), dims, std::move(name));
}

Input KernelGraphBuilder::reduce_over_cluster(Reduction reduction, Input part, const TileDims& dims,
                                              std::string name) {
  Node reduced = node(NodeKind::all_reduce, {part});
  reduced.reduction = reduction;
  return add(std::move(reduced), dims, std::move(name));
}

Graph KernelGraphBuilder::take() {
  set_stored(graph_, terms_.tensors);
  return TileGraphBuilder::take();
}

namespace {

/// On a cluster of `parts` cores each sums a part of k.
Input product_of(KernelGraphBuilder& builder, const KernelTerm& reduce, int64_t gathered,
                 int parts) {
  const KernelTerm& body = builder.term(reduce.children[0]);
  const Input left = builder.load_term(builder.term(body.children[0]), {kKernelM, kKernelK});
  const Input right = builder.load_term(builder.term(body.children[1]), {kKernelK, kKernelN});
  Node node = builder.node(NodeKind::tile_multiply, {left, right});
  node.capacity = gathered;
  const Input product = builder.add(std::move(node), {kKernelM, kKernelN}, "c");
  if (parts == 1) return product;
  builder.spread_depth(parts);
  return builder.sum_over_cluster(product, {kKernelM, kKernelN}, "c_sum");
}

/// The product of what the first product and the maps after it give, and a load that stays. Columns
/// of several tiles are spread over the cores of a cluster, which sum what they give.
Input second_product_of(KernelGraphBuilder& builder, const KernelTerm& reduce) {
  const KernelTerm& body = builder.term(reduce.children[0]);
  const Input left = builder.give(body.children[0], {kKernelM, kKernelN});
  const Input right = builder.load_term(builder.term(body.children[1]), {kKernelN, kKernelL}, 1);
  const Input product =
      builder.add(builder.node(NodeKind::tile_multiply, {left, right}), {kKernelM, kKernelL}, "d");
  if (!builder.spread_columns()) return product;
  return builder.sum_over_cluster(product, {kKernelM, kKernelL}, "d_sum");
}

Input row_reduction_of(KernelGraphBuilder& builder, const KernelTerm& reduce) {
  Node node =
      builder.node(NodeKind::reduce, {builder.give(reduce.children[0], {kKernelM, kKernelK})});
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
      builder.set_made(form.second_product, second_product_of(builder, term), whole);
      continue;
    }
    if (!form.product) whole = {kKernelM};
    builder.set_made(static_cast<int32_t>(t),
                     form.product ? product_of(builder, term, gathered, parts.cores)
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
