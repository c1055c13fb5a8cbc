// Where the elements of tiles are in a dense tensor: the subscripts of a tile_load or tile_store as
// tables over the rows and columns of its tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tiles.h"
#include "tensor/storage.h"

namespace fuseflow {

inline constexpr int64_t kPaddedPosition = -2;   ///< the element is padding of its tile
inline constexpr int64_t kOutsidePosition = -1;  ///< its subscripts are outside of the tensor

class TileAddressing {
 public:
  /// Dimensions of the tiles: {row, column}, or {column} for vectors.
  TileAddressing(const Graph& graph, const Node& node, const std::vector<int>& dims,
                 const std::vector<int64_t>& shape, const Format& format);

  /// Position of an element in the dense storage, kOutsidePosition where a subscript is outside of
  /// the tensor, kPaddedPosition where the element is padding.
  int64_t position(int64_t row, int64_t col) const {
    if (row >= rows_ || col >= cols_) return kPaddedPosition;
    if (!coupled_) {
      const int64_t r = row_position_[static_cast<size_t>(row)];
      const int64_t c = col_position_[static_cast<size_t>(col)];
      return r < 0 || c < 0 ? kOutsidePosition : r + c;
    }
    return coupled_position(row, col);
  }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }

 private:
  int64_t coupled_position(int64_t row, int64_t col) const;

  int64_t rows_ = 1, cols_ = 1;
  bool coupled_ = false;  ///< some tensor dimension depends on the row and the column (windows)
  std::vector<int64_t> shape_, stride_;
  std::vector<int64_t> row_part_, col_part_;  ///< coordinates by row or column, then by dimension
  std::vector<int64_t> row_position_, col_position_;
};

}  // namespace fuseflow
