#include "chip/needs.h"

#include <algorithm>

#include "chip/forms.h"
#include "chip/rows.h"
#include "graph/tile_kernel.h"
#include "support/ceil_div.h"

namespace fuseflow::chip {
namespace {

const Node& node_of(const Graph& graph, NodeId n) {
  return graph.nodes[static_cast<size_t>(n)];
}

int64_t copies_of(const Graph& graph, NodeId load) {
  return std::max<int64_t>(node_of(graph, load).capacity, 1);
}

Needs of_chain(const Graph& graph) {
  const TileRoles roles = tile_roles(graph);
  const TileGeometry geometry = tile_geometry(graph);
  ChainNumbers chain;
  chain.tile = geometry.tile;
  chain.shape = geometry.shape;
  chain.gated = roles.branches == 2;
  chain.one_after_other = chain.gated && graph.tiles->way != GatedWay::split;
  chain.a_bytes = moved_bytes(graph, node_of(graph, roles.a));
  chain.b_bytes = moved_bytes(graph, node_of(graph, roles.b[0]));
  chain.d_bytes = moved_bytes(graph, node_of(graph, roles.d));
  chain.c_bytes = graph.tiles->element_bytes;
  chain.a_copies = copies_of(graph, roles.a);
  chain.b_copies = copies_of(graph, roles.b[0]);
  chain.d_copies = copies_of(graph, roles.d);
  chain.c_tiles = geometry.c_tiles_held;
  chain.slices_stay = slices_stay(graph, roles);
  for (const Dim dim : graph.tiles->loops) {
    if (dim != Dim::k && geometry.temporal[dim] > 1) chain.sums_over_n = dim == Dim::n;
  }
  chain.adders = geometry.sharers();
  return chain_needs(chain);
}

/// Of a kernel of one loop: a product, or attention.
class KernelNeeds {
 public:
  explicit KernelNeeds(const Graph& graph) : graph_(graph), roles_(kernel_roles(graph)) {}

  Needs needs() {
    if (!has_products(graph_)) return needs_;  // threads read memory and write it
    roles_.held() ? attention() : product();
    return needs_;
  }

 private:
  int64_t whole(int dim) const { return padded_block(graph_, dim); }
  const Node& node(NodeId n) const { return node_of(graph_, n); }
  int64_t rows_there() const { return graph_.indices[kKernelM].block; }
  /// What goes to other cores and to memory: not the rows that products pad.
  SumsSize there(const SumsSize& sums) const { return {rows_there(), sums.columns}; }
  NodeId load_of(const Node& product, size_t input) const {
    return graph_.streams[static_cast<size_t>(product.inputs[input].stream)].producer;
  }
  void ring(NodeId load, int rows, int columns) {
    needs_.rings.push_back(
        {copies_of(graph_, load), whole(rows) * whole(columns) * moved_bytes(graph_, node(load))});
  }

  void product() {
    const Node& of = node(roles_.reductions[0]);
    ring(load_of(of, 0), kKernelM, kKernelK);
    ring(load_of(of, 1), kKernelK, kKernelN);
    const SumsSize sums{whole(kKernelM), whole(kKernelN)};
    needs_.sums = {{sums}};
    const SumsSize sent = there(sums);
    if (depth_cores(graph_) > 1) add_scatter(needs_, sent, depth_cores(graph_));
    if (adding_clusters(graph_) > 1) needs_.rooms.push_back(sent.rows * sent.columns * kSumBytes);
  }

  /// Scores of two loads, reductions of their rows, a product of what these leave and a load.
  void attention() {
    const Node* scores = nullptr;
    const Node* product = nullptr;
    int64_t reductions = 0;
    for (const NodeId n : roles_.steps) {
      if (node(n).kind == NodeKind::reduce) ++reductions;
      if (node(n).kind != NodeKind::tile_multiply) continue;
      (is_held_reduction(graph_, node(n)) ? product : scores) = &node(n);
    }
    ring(load_of(*scores, 0), kKernelM, kKernelL);
    ring(load_of(*scores, 1), kKernelL, kKernelK);
    ring(load_of(*product, 1), kKernelK, kKernelN);
    needs_.rings[0].copies = 1;
    const int64_t m = whole(kKernelM), k = whole(kKernelK);
    const int64_t rows = m * kSumBytes;
    needs_.sums = {{{m, k}, {m, whole(kKernelN)}}};
    // The factor of the second product, in elements; scores, what rows hold, their factors.
    needs_.rooms = {m * k * graph_.tiles->element_bytes, k * rows, reductions * rows, rows,
                    reductions * rows};
    // Parts of the keys: what each core has of each row, and shares of the sums.
    for (const NodeId n : roles_.exchanges) {
      if (n == roles_.scatter) continue;
      needs_.rooms.push_back(depth_cores(graph_) * numbers_sent(rows_there()) * kSumBytes);
      needs_.barriers += kBroadcastBarriers;
    }
    if (roles_.scatter >= 0) add_scatter(needs_, there(needs_.sums[0][1]), depth_cores(graph_));
  }

  const Graph& graph_;
  const KernelRoles roles_;
  Needs needs_;
};

/// Is the dimension what some product sums?
bool is_summed(const Graph& graph, int dim) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.kind != NodeKind::tile_multiply) return false;
    const Stream& left = graph.streams[static_cast<size_t>(node.inputs[0].stream)];
    return left.block.size() == 2 && left.block[1] == dim;
  });
}

/// Of several steps; a single one is filled.
int64_t uneven_depth(const Graph& graph) {
  for (size_t d = 0; d < graph.indices.size(); ++d) {
    const GraphIndex& index = graph.indices[d];
    const bool even = index.block % depth_unit(graph.tiles->element_bytes) == 0;
    if (index.extent > 1 && !even && is_summed(graph, static_cast<int>(d))) return index.block;
  }
  return 0;
}

}  // namespace

int64_t padded_block(const Graph& graph, int dim) {
  const int64_t depth = depth_unit(graph.tiles->element_bytes);
  const int64_t unit = depth > kUnit && is_summed(graph, dim) ? depth : kUnit;
  return ceil_div(graph.indices[static_cast<size_t>(dim)].block, unit) * unit;
}

Needs chain_needs(const ChainNumbers& chain) {
  const auto [m, n, k, l] = chain.tile.value;
  const int branches = chain.one_after_other ? 2 : 1;
  const int64_t c_bytes = m * n * chain.c_bytes;
  const SumsSize c{m, n}, e{m, l};
  const ClusterShape& shape = chain.shape;
  Needs needs;
  needs.rings.push_back({chain.a_copies, m * k * chain.a_bytes});
  for (int b = 0; b < branches; ++b) needs.rings.push_back({chain.b_copies, k * n * chain.b_bytes});
  needs.rings.push_back({chain.d_copies, n * l * chain.d_bytes});
  needs.sums = {{c}};
  if (chain.gated) needs.sums[0].push_back(c);
  if (chain.sums_over_n) {
    needs.sums[0].push_back(e);
  } else {
    needs.sums.push_back({e});
  }
  needs.rooms.push_back(chain.c_tiles * c_bytes);
  for (int b = 0; b < branches && shape.k > 1; ++b)
    add_scatter(needs, c, shape.k, share_unit(chain.c_bytes));
  if (shape.k > 1) ++needs.barriers;  // finished shares that go to all
  if (shape.reduce() > 1) add_scatter(needs, e, shape.reduce());
  if (shape.shuffle() > 1) add_round(needs, c_bytes, shape.shuffle(), chain.slices_stay);
  if (chain.adders > 1) needs.rooms.push_back(m * l * kSumBytes);
  for (const int64_t depth : {k, n}) {
    if (depth % depth_unit(chain.c_bytes) != 0) needs.uneven_depth = depth;
  }
  return needs;
}

std::optional<Needs> needs_of(const Graph& graph) {
  if (!why_no_form(graph).empty()) return std::nullopt;
  const TileForm form = tile_form(graph);
  if (form == TileForm::chain) return of_chain(graph);
  Needs needs = form == TileForm::kernel ? KernelNeeds(graph).needs()
                                         : rows_needs(graph, rows_on_core(graph));
  needs.uneven_depth = uneven_depth(graph);
  return needs;
}

bool fits_chip(const Graph& graph, const Machine& machine) {
  const auto chip = chip_of(machine);
  if (!chip) return true;
  const auto needs = needs_of(graph);
  return !needs || why_not(*needs, *chip).empty();
}

}  // namespace fuseflow::chip
