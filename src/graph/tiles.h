// Graphs of tiles: dense chains C = A B, E = f(C) D on the cores of linked clusters. What each node
// is for, and the sizes that follow from the text. Meaning: ir-spec/cluster.md. Nothing of
// machines, plans' costs or execution.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// What a graph of tiles computes; its indices tell.
enum class TileForm : uint8_t {
  chain,   ///< two products, with what is between and after them: the rest of this header
  kernel,  ///< a walk over k (graph/tile_kernel.h)
  rows,    ///< rows by their widths (graph/tile_rows.h)
};
TileForm tile_form(const Graph& graph);
/// Does it multiply matrices?
bool has_products(const Graph& graph);

/// The nodes of a chain by what they do for the chain; -1 where there is none.
struct TileRoles {
  int branches = 1;  ///< first products: 2 in a gated chain
  NodeId a = -1, d = -1;
  std::array<NodeId, 2> b{-1, -1}, product{-1, -1};
  NodeId exchange = -1, gather = -1, hold = -1, shuffle = -1, second = -1, scatter = -1, store = -1;
  std::vector<NodeId> first_loads, first_maps;  ///< between the products: vectors over N, maps
  std::vector<NodeId> last_loads, last_maps;    ///< after them: vectors over L, tensors of E's size
};

/// Steps of a cluster along each dimension of a chain, and how they are walked.
struct ChainSteps {
  Extents steps;
  Extents temporal;  ///< those walked in time; 1 where the dimension is spread over clusters
  int64_t clusters = 1;

  void set(Dim dim, int64_t count, bool in_time) {
    steps[dim] = count;
    temporal[dim] = in_time ? count : 1;
    clusters *= in_time ? 1 : count;
  }
  /// Clusters that share the same range of E and add to it in memory.
  int64_t sharers() const {
    return steps[Dim::n] / temporal[Dim::n] * (steps[Dim::k] / temporal[Dim::k]);
  }
};

/// Tiles of C (reused over L) or of partial E (reused over N) alive at a time in a core. `depth`:
/// the position of a temporal loop, 0 outermost; -1 where the dimension is spread over clusters.
template <typename Depth>
int64_t chain_tiles_held(const ChainSteps& steps, const Depth& depth, Dim reuse, Dim other) {
  if (steps.temporal[reuse] == 1) return 1;
  int64_t held = 1;
  for (const Dim dim : {Dim::m, other}) {
    if (depth(dim) > depth(reuse)) held *= steps.temporal[dim];
  }
  return held;
}

/// Sizes of a graph of tiles.
struct TileGeometry : ChainSteps {
  ClusterShape shape;
  Extents size;                                ///< elements
  Extents padded;                              ///< ... with the padding
  Extents tile;                                ///< of one block
  int64_t c_tiles_held = 1, e_tiles_held = 1;  ///< alive at a time in a core
};

/// Roles and sizes of a graph that verify_chain (nodes/chain_check.h) accepts.
TileRoles tile_roles(const Graph& graph);
TileGeometry tile_geometry(const Graph& graph);

/// Whether slices of C of the other cores can stay for further steps of L: there are such steps,
/// and a core has one tile of C at a time.
inline bool slices_can_stay(const ClusterShape& shape, const Extents& temporal,
                            int64_t c_tiles_held) {
  return shape.shuffle() > 1 && temporal[Dim::l] > 1 && c_tiles_held == 1;
}
/// Whether they do: the shuffle has room for all of them.
inline bool slices_stay(const Graph& graph, const TileRoles& roles) {
  return roles.shuffle >= 0 && graph.nodes[static_cast<size_t>(roles.shuffle)].capacity > 0;
}

/// Bytes of one tensor of one core, by the level that holds them, the fastest first.
struct HeldBytes {
  int64_t registers = 0;
  int64_t scratchpad = 0;
  int64_t links = 0;  ///< in the scratchpads of the cores that hold the same slices
  int64_t global = 0;

  int64_t total() const { return registers + scratchpad + links + global; }
  std::array<int64_t, 4> fields() const { return {registers, scratchpad, links, global}; }
};
/// What a tile_hold or the second product of a chain holds.
inline HeldBytes held_bytes(const Node& node) {
  const auto [registers, scratchpad, links, global] = node.tile.held;
  return {registers, scratchpad, links, global};
}

/// Bytes of an element that a tile_load or a tile_store moves.
inline int64_t moved_bytes(const Graph& graph, const Node& node) {
  return node.tile.element_bytes > 0 ? node.tile.element_bytes : graph.tiles->element_bytes;
}

/// By node: whether it is a load that threads bring, each core its own. That is one that says so,
/// and one that no product takes: who does elementwise work reads what it takes.
std::vector<bool> loads_by_threads(const Graph& graph);

/// The number of the first digit of a dimension, as subscripts count them; the next dimension's is
/// the end of it.
int first_digit(const Graph& graph, int dim);

/// Whether the subscripts of a node of any graph of tiles read along a dimension.
bool reads_along(const Graph& graph, const Node& node, int dim);

/// The dimension of which a tile has one element: the batch; -1 where there is none.
int batch_dim(const Graph& graph);

/// By dimension: do the tiles of a load differ along it? They
/// do along those of its stream, and along the batch where a subscript has a digit of it.
std::vector<bool> varies_along(const Graph& graph, const Node& load);
/// How many different tiles a load has; 2^63-1 where these are more.
int64_t load_tiles(const Graph& graph, const Node& load);

/// Position of a temporal loop, 0 outermost; -1 when the dimension is spread over clusters.
int tile_loop_depth(const TileMapping& tiles, Dim dim);

}  // namespace fuseflow
