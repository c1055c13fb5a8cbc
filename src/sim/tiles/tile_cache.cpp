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
  unlink(found->second);
  link_first(found->second);
  return &slots_[found->second].tile;
}

void TileCache::put(const HeldTile& tile) {
  if (tile.bytes > capacity_) return;
  while (bytes_ + tile.bytes > capacity_) drop_last();
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const size_t slot = free_.back();
  free_.pop_back();
  slots_[slot].tile = tile;
  bytes_ += tile.bytes;
  where_.emplace(tile.key, slot);
  link_first(slot);
}

void TileCache::unlink(size_t slot) {
  const Slot& at = slots_[slot];
  (at.before == kNone ? first_ : slots_[at.before].after) = at.after;
  (at.after == kNone ? last_ : slots_[at.after].before) = at.before;
}

void TileCache::link_first(size_t slot) {
  slots_[slot].before = kNone;
  slots_[slot].after = first_;
  (first_ == kNone ? last_ : slots_[first_].before) = slot;
  first_ = slot;
}

void TileCache::drop_last() {
  const size_t slot = last_;
  unlink(slot);
  bytes_ -= slots_[slot].tile.bytes;
  where_.erase(slots_[slot].tile.key);
  free_.push_back(slot);
}

}  // namespace fuseflow
