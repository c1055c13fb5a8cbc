#include "sim/tiles/tile_cache.h"

namespace fuseflow {

size_t TileCache::Hash::operator()(const TileKey& key) const {
  // Multiplication by odd constants spreads the low bits, where tiles differ, over the high ones.
  auto hash = static_cast<uint64_t>(key.tensor) * 0x9E3779B97F4A7C15U;
  hash = (hash ^ static_cast<uint64_t>(key.row)) * 0xC2B2AE3D27D4EB4FU;
  hash = (hash ^ static_cast<uint64_t>(key.col) ^ (hash >> 29)) * 0x165667B19E3779F9U;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

HeldTile* TileCache::find(const TileKey& key) {
  const auto found = where_.find(key);
  if (found == where_.end()) return nullptr;
  tiles_.splice(tiles_.begin(), tiles_, found->second);
  return &tiles_.front();
}

void TileCache::put(const HeldTile& tile) {
  if (tile.bytes > capacity_) return;
  while (bytes_ + tile.bytes > capacity_) {
    bytes_ -= tiles_.back().bytes;
    where_.erase(tiles_.back().key);
    tiles_.pop_back();
  }
  tiles_.push_front(tile);
  where_.emplace(tile.key, tiles_.begin());
  bytes_ += tile.bytes;
}

}  // namespace fuseflow
