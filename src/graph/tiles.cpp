#include "graph/tiles.h"

#include <algorithm>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"

namespace fuseflow {

TileForm tile_form(const Graph& graph) {
  if (is_tile_rows(graph)) return TileForm::rows;
  return is_tile_kernel(graph) ? TileForm::kernel : TileForm::chain;
}

std::vector<bool> loads_by_threads(const Graph& graph) {
  std::vector<bool> multiplied(graph.nodes.size(), false), all(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_multiply) continue;
    for (const Input& input : node.inputs) {
      const Stream& taken = graph.streams[static_cast<size_t>(input.stream)];
      multiplied[static_cast<size_t>(taken.producer)] = true;
    }
  }
  for (size_t n = 0; n < all.size(); ++n) {
    const Node& node = graph.nodes[n];
    all[n] = node.kind == NodeKind::tile_load && (node.tile.by_threads || !multiplied[n]);
  }
  return all;
}

int first_digit(const Graph& graph, int dim) {
  int first = 0;
  for (int d = 0; d < dim; ++d) {
    first += static_cast<int>(graph.indices[static_cast<size_t>(d)].tiling.digits.size());
  }
  return first;
}

bool has_products(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.kind == NodeKind::tile_multiply; });
}

bool reads_along(const Graph& graph, const Node& node, int dim) {
  const int first = first_digit(graph, dim);
  const int end = first_digit(graph, dim + 1);
  for (const TileSubscript& subscript : node.tile.subscripts) {
    for (const auto& [digit, factor] : subscript.terms) {
      if (digit >= first && digit < end && factor != 0) return true;
    }
  }
  return false;
}

int batch_dim(const Graph& graph) {
  if (is_tile_rows(graph)) return kRowsG;
  return is_tile_kernel(graph) ? int{kKernelG} : -1;
}

std::vector<bool> varies_along(const Graph& graph, const Node& load) {
  std::vector<bool> varies(graph.indices.size(), false);
  for (const int dim : graph.streams[static_cast<size_t>(load.outputs[0])].block) {
    varies[static_cast<size_t>(dim)] = true;
  }
  const int batch = batch_dim(graph);
  if (batch >= 0 && reads_along(graph, load, batch)) varies[static_cast<size_t>(batch)] = true;
  return varies;
}

int64_t load_tiles(const Graph& graph, const Node& load) {
  const std::vector<bool> varies = varies_along(graph, load);
  int64_t tiles = 1;
  for (size_t d = 0; d < varies.size(); ++d) {
    if (!varies[d]) continue;
    if (__builtin_mul_overflow(tiles, graph.indices[d].extent, &tiles)) return INT64_MAX;
  }
  return tiles;
}

namespace {

using Dims = std::vector<int>;
constexpr int kM = 0, kN = 1, kK = 2, kL = 3;

const Dims& dims_of(const Graph& graph, StreamId stream) {
  return graph.streams[static_cast<size_t>(stream)].block;
}

}  // namespace

int tile_loop_depth(const TileMapping& tiles, Dim dim) {
  const auto at = std::find(tiles.loops.begin(), tiles.loops.end(), dim);
  return at == tiles.loops.end() ? -1 : static_cast<int>(at - tiles.loops.begin());
}

TileRoles tile_roles(const Graph& graph) {
  TileRoles roles;
  int products = 0;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const bool first = roles.hold < 0;
    switch (node.kind) {
      case NodeKind::tile_load: {
        const Dims& dims = dims_of(graph, node.outputs[0]);
        if (dims == Dims{kM, kK}) roles.a = n;
        if (dims == Dims{kK, kN}) roles.b[roles.b[0] < 0 ? 0 : 1] = n;
        if (dims == Dims{kN, kL}) roles.d = n;
        if (dims == Dims{kN}) roles.first_loads.push_back(n);
        if (dims == Dims{kL} || dims == Dims{kM, kL}) roles.last_loads.push_back(n);
        break;
      }
      case NodeKind::tile_multiply:
        if (first && products < 2) roles.product[static_cast<size_t>(products++)] = n;
        if (!first) roles.second = n;
        break;
      case NodeKind::map:
        (first ? roles.first_maps : roles.last_maps).push_back(n);
        break;
      case NodeKind::exchange:
        roles.exchange = n;
        break;
      case NodeKind::gather:
        roles.gather = n;
        break;
      case NodeKind::tile_hold:
        roles.hold = n;
        break;
      case NodeKind::shuffle:
        roles.shuffle = n;
        break;
      case NodeKind::reduce_scatter:
        roles.scatter = n;
        break;
      case NodeKind::tile_store:
        roles.store = n;
        break;
      default:
        break;
    }
  }
  roles.branches = std::max(products, 1);
  return roles;
}

TileGeometry tile_geometry(const Graph& graph) {
  TileGeometry g;
  const TileMapping& tiles = *graph.tiles;
  g.shape = {graph.indices[kM].tiling.cluster, graph.indices[kN].tiling.cluster,
             graph.indices[kK].tiling.cluster, graph.indices[kL].tiling.cluster};
  for (const Dim dim : kAllDims) {
    const GraphIndex& index = graph.indices[static_cast<size_t>(index_of(dim))];
    // With one branch on each of two blocks, both cover all of K.
    const int64_t blocks = dim == Dim::k && tiles.way == GatedWay::split ? 1 : index.tiling.cluster;
    g.size[dim] = index.elements();
    g.tile[dim] = index.block;
    g.padded[dim] = index.extent * index.block;
    g.set(dim, index.extent / blocks, tile_loop_depth(tiles, dim) >= 0);
  }
  const auto depth = [&](Dim dim) { return tile_loop_depth(tiles, dim); };
  g.c_tiles_held = chain_tiles_held(g, depth, Dim::l, Dim::n);
  g.e_tiles_held = chain_tiles_held(g, depth, Dim::n, Dim::l);
  return g;
}

}  // namespace fuseflow
