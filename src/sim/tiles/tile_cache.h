// The tiles that an L2 holds: least recently used out, in the order in which it is asked. Knows
// nothing of time or bandwidth (memory.h) nor of what a tile is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

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

  /// The tile, which is then the most recently used one; null where it is not held. Valid until
  /// the next call.
  HeldTile* find(const TileKey& key);

  /// Holds a tile that is not held, in the place of those that were used the longest ago. A tile
  /// larger than the cache is not held.
  void put(const HeldTile& tile);

  int64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Hash {
    size_t operator()(const TileKey& key) const;
  };
  /// Doubly linked, the most recently used one first.
  struct Slot {
    HeldTile tile;
    size_t before = kNone, after = kNone;
  };

  void unlink(size_t slot);
  void link_first(size_t slot);
  void drop_last();

  int64_t capacity_;
  int64_t bytes_ = 0;
  std::unordered_map<TileKey, size_t, Hash> where_;
  std::vector<Slot> slots_;
  std::vector<size_t> free_;
  size_t first_ = kNone, last_ = kNone;
};

}  // namespace fuseflow
