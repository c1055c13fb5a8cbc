#include "sim/tiles/places.h"

namespace fuseflow {

std::vector<ClusterAt> clusters_of(const Graph& graph) {
  const TileGeometry geometry = tile_geometry(graph);
  std::vector<ClusterAt> clusters{ClusterAt{{0, 0, 0, 0}}};
  for (const Dim dim : kAllDims) {
    if (tile_loop_depth(*graph.tiles, dim) >= 0) continue;
    std::vector<ClusterAt> longer;
    for (const ClusterAt& at : clusters) {
      for (int64_t step = 0; step < geometry.steps[dim]; ++step) {
        longer.push_back(at);
        longer.back()[dim] = step;
      }
    }
    clusters = std::move(longer);
  }
  return clusters;
}

bool adds_epilogue(const ClusterAt& at) {
  return at[Dim::n] == 0 && at[Dim::k] == 0;
}

TileKey TilePlaces::key(int32_t cluster, const TileOp& op) const {
  const ClusterAt& at = clusters[cluster];
  const TileStride& stride = nodes[static_cast<size_t>(op.node)];
  TileKey key{op.node, op.row, op.col};
  for (const Dim dim : kAllDims) {
    key.row += at[dim] * stride.row[dim];
    key.col += at[dim] * stride.col[dim];
  }
  return key;
}

namespace {

/// Elements that a cluster covers along each dimension that is spread over clusters.
Extents cluster_steps(const Graph& graph) {
  const TileGeometry geometry = tile_geometry(graph);
  Extents steps{{0, 0, 0, 0}};
  for (const Dim dim : kAllDims) {
    if (tile_loop_depth(*graph.tiles, dim) >= 0) continue;
    steps[dim] = geometry.padded[dim] / geometry.steps[dim];
  }
  return steps;
}

}  // namespace

TilePlaces places_of(const Graph& graph) {
  const TileRoles roles = tile_roles(graph);
  const Extents step = cluster_steps(graph);
  TilePlaces places;
  places.clusters = clusters_of(graph);
  places.nodes.resize(graph.nodes.size());
  const auto along = [&](NodeId node, Dim row, Dim col) {
    if (node < 0) return;
    TileStride& stride = places.nodes[node];
    stride.row[row] = step[row];
    stride.col[col] = step[col];
  };
  const auto vector_of = [&](NodeId node, Dim dim) { places.nodes[node].col[dim] = step[dim]; };
  along(roles.a, Dim::m, Dim::k);
  for (const NodeId b : roles.b) along(b, Dim::k, Dim::n);
  along(roles.d, Dim::n, Dim::l);
  along(roles.store, Dim::m, Dim::l);
  for (const NodeId load : roles.first_loads) vector_of(load, Dim::n);
  for (const NodeId load : roles.last_loads) {
    const StreamId given = graph.nodes[load].outputs[0];
    const bool vector = graph.streams[given].block.size() == 1;
    if (vector) {
      vector_of(load, Dim::l);
    } else {
      along(load, Dim::m, Dim::l);
    }
  }
  return places;
}

}  // namespace fuseflow
