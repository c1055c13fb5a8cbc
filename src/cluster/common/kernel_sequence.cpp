#include "cluster/common/kernel_sequence.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow::cluster {
namespace {

/// The tiles of a load as its operations name them.
std::vector<TileKey> tiles_of(const Graph& graph, NodeId n) {
  const Node& load = graph.nodes[static_cast<size_t>(n)];
  std::vector<TileKey> keys;
  if (is_tile_kernel(graph)) {
    for (const int64_t tile : walked_tiles(graph, load)) keys.push_back({n, tile, 0});
    return keys;
  }
  if (is_tile_rows(graph)) {
    for (int64_t tile = 0; tile < rows_load_tiles(graph, load); ++tile)
      keys.push_back({n, tile, 0});
    return keys;
  }
  const TileGeometry geometry = tile_geometry(graph);
  const std::vector<int>& dims = graph.streams[static_cast<size_t>(load.outputs[0])].block;
  if (dims.size() != 2) return keys;
  const Dim rows = static_cast<Dim>(dims[0]), columns = static_cast<Dim>(dims[1]);
  for (int64_t row = 0; row < geometry.padded[rows]; row += geometry.tile[rows]) {
    for (int64_t col = 0; col < geometry.padded[columns]; col += geometry.tile[columns]) {
      keys.push_back({n, row, col});
    }
  }
  return keys;
}

/// The tiles of what was touched before, the longest ago first.
std::vector<std::pair<TileKey, int64_t>> held_tiles(const Graph& graph,
                                                    const std::map<TensorId, int64_t>& touched) {
  std::vector<std::pair<int64_t, NodeId>> loads;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const auto at = touched.find(node.tensor);
    if (node.kind == NodeKind::tile_load && at != touched.end()) loads.emplace_back(at->second, n);
  }
  std::sort(loads.begin(), loads.end());
  std::vector<std::pair<TileKey, int64_t>> held;
  for (const auto& [when, n] : loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const int64_t bytes = core_elements(graph, load.outputs[0]) * moved_bytes(graph, load);
    for (const TileKey& key : tiles_of(graph, n)) held.emplace_back(key, bytes);
  }
  return held;
}

}  // namespace

void KernelSequence::run(const Graph& graph) {
  LaunchOptions launch;
  if (machine_.has_l2()) launch.held = held_tiles(graph, touched_);
  if (apart_.kernels > 0) apart_.total.cycles += machine_.reconfiguration_cycles;
  apart_.total += time_tiles(graph, machine_, launch);
  for (const Node& node : graph.nodes) {
    if (node.tensor >= 0) touched_[node.tensor] = apart_.kernels;
  }
  ++apart_.kernels;
}

}  // namespace fuseflow::cluster
