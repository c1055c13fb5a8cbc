#include "cluster/chain/elementwise_kernel.h"

#include <algorithm>

#include "cluster/common/block_builder.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMapTileElements = 2048;
constexpr int64_t kMapTilesInFlight = 16;

/// A block's share of an elementwise kernel.
TileOps map_graph(int64_t elements, const MapSize& size) {
  BlockBuilder block;
  std::vector<int32_t> stores;
  for (int64_t begin = 0; begin < elements; begin += kMapTileElements) {
    const int64_t count = std::min(kMapTileElements, elements - begin);
    const auto freed = static_cast<int64_t>(stores.size()) - kMapTilesInFlight;
    const int32_t order = freed >= 0 ? stores[static_cast<size_t>(freed)] : kNone;
    const int32_t x = block.load({0, 0, begin}, count, size.read_bytes[0], order);
    const int32_t y =
        size.inputs > 1 ? block.load({1, 0, begin}, count, size.read_bytes[1], order) : kNone;
    TileOp map;
    map.kind = TileOpKind::map;
    map.bytes.scratchpad_read =
        count * (size.read_bytes[0] + (size.inputs > 1 ? size.read_bytes[1] : 0));
    map.bytes.scratchpad_write = count * size.stored_bytes;
    map.lanes = count * size.each;
    const int32_t mapped = block.add(map, {x, y});
    TileOp store = BlockBuilder::at({size.inputs, 0, begin});
    store.kind = TileOpKind::store;
    store.bytes.scratchpad_read = store.bytes.global_write = count * size.stored_bytes;
    stores.push_back(block.add(store, {mapped}));
  }
  return block.take();
}

/// The places of the tiles of an elementwise kernel whose blocks take `share` elements each: the
/// tensors are rows of so many.
TilePlaces map_places(const MapSize& size, int64_t blocks) {
  TilePlaces places;
  for (int64_t block = 0; block < blocks; ++block) places.clusters.push_back({{block, 0, 0, 0}});
  places.nodes.resize(static_cast<size_t>(size.inputs) + 1);
  for (TileStride& stride : places.nodes) stride.row[Dim::m] = 1;
  return places;
}

HeldTiles map_held(const MapSize& size, int64_t share, const Machine& machine) {
  HeldTiles held;
  for (int64_t input = 0; machine.has_l2() && input < size.held; ++input) {
    for (int64_t at = 0; at < size.elements; at += share) {
      const int64_t block = std::min(share, size.elements - at);
      for (int64_t begin = 0; begin < block; begin += kMapTileElements) {
        const int64_t count = std::min(kMapTileElements, block - begin);
        held.push_back(
            {{input, at / share, begin}, count * size.read_bytes[static_cast<size_t>(input)]});
      }
    }
  }
  return held;
}

}  // namespace

Measured elementwise(const MapSize& size, const Machine& machine) {
  const int64_t share =
      std::max<int64_t>(ceil_div(size.elements, machine.concurrent_clusters(1)), 1);
  const int64_t whole = size.elements / share;
  const TileOps full = map_graph(share, size);
  const TileOps rest = map_graph(size.elements - whole * share, size);
  std::vector<int32_t> which(static_cast<size_t>(whole), 0);
  if (size.elements > whole * share) {
    which.push_back(1);
  }
  const TilePlaces places = map_places(size, static_cast<int64_t>(which.size()));
  LaunchOptions options;
  options.element_bytes = size.read_bytes[0];
  options.places = &places;
  options.held = map_held(size, share, machine);
  return time_launch(machine, {&full, &rest}, which, options);
}

}  // namespace fuseflow::cluster
