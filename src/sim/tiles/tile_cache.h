// The tiles that an L2 holds: least recently used out, in the order in which it is asked. Knows
// nothing of time or bandwidth (memory.h) nor of what a tile is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace fuseflow {

/// Which tile: of a tensor (a number that the caller gives), at a row and column.
struct TileKey {
  int64_t tensor = 0;
  int64_t row = 0;
  int64_t col = 0;
  bool operator==(const TileKey&) const = default;
};

struct HeldTile {
  TileKey key;
  int64_t bytes = 0;
  int64_t there = 0;     ///< time from which it can be read, in ticks
  bool written = false;  ///< its bytes go to memory once, which is counted already
};

class TileCache {
 public:
  explicit TileCache(int64_t capacity_bytes) : capacity_(capacity_bytes) {}
  TileCache(const TileCache&) = delete;  ///< it knows where in its list a tile is
  TileCache& operator=(const TileCache&) = delete;

  /// The tile, which is then the most recently used one; null where it is not held. Valid until
  /// the next call.
  HeldTile* find(const TileKey& key);

  /// Holds a tile that is not held, in the place of those that were used the longest ago. A tile
  /// larger than the cache is not held.
  void put(const HeldTile& tile);

  int64_t bytes() const { return bytes_; }

 private:
  struct Hash {
    size_t operator()(const TileKey& key) const;
  };

  int64_t capacity_;
  int64_t bytes_ = 0;
  std::list<HeldTile> tiles_;  ///< the most recently used one first
  std::unordered_map<TileKey, std::list<HeldTile>::iterator, Hash> where_;
};

}  // namespace fuseflow
