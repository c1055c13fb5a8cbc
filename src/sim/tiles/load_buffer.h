// The buffer of a load on a core while operations are made: tiles go to its copies in turn, and a
// tile that is asked for again is not loaded again while it is the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/tiles/tile_cache.h"

namespace fuseflow {

class LoadBuffer {
 public:
  LoadBuffer() = default;
  explicit LoadBuffer(int64_t copies) : users_(static_cast<size_t>(copies)) {}

  /// The operation that loads the tile: `load`, called with what has to end before the copy is
  /// overwritten, makes it where another one is there.
  template <typename Load>
  int32_t get(const TileKey& tile, const Load& load) {
    if (tile_ != tile || op_ < 0) {
      ++loaded_;
      tile_ = tile;
      op_ = load(users());
      users() = {op_};
    }
    return op_;
  }

  /// What uses the copy of the last tile; the load at first.
  std::vector<int32_t>& users() { return users_[loaded_ % users_.size()]; }

 private:
  TileKey tile_;
  int32_t op_ = -1;
  size_t loaded_ = 0;
  std::vector<std::vector<int32_t>> users_;  ///< by copy
};

}  // namespace fuseflow
