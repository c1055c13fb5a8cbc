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
  const Extents step = cluster_steps(graph);
  TilePlaces places;
  places.clusters = clusters_of(graph);
  for (const Node& node : graph.nodes) {
    TileStride& stride = places.nodes.emplace_back();
    if (node.kind != NodeKind::tile_load && node.kind != NodeKind::tile_store) continue;
    const StreamId stream =
        node.kind == NodeKind::tile_load ? node.outputs[0] : node.inputs[0].stream;
    const std::vector<int>& dims = graph.streams[stream].block;
    const Dim row = static_cast<Dim>(dims.front()), col = static_cast<Dim>(dims.back());
    if (dims.size() > 1) stride.row[row] = step[row];
    stride.col[col] = step[col];
  }
  return places;
}

}  // namespace fuseflow
