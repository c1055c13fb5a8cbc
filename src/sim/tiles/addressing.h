// Where the elements of tiles are in a dense tensor: the subscripts of a tile_load or tile_store as
// tables over the rows and columns of its tiles.
#pragma once

#include <vector>

#include "graph/tiles.h"
#include "tensor/storage.h"

namespace fuseflow {

class TileAddressing {
 public:
  /// Dimensions of the tiles: {row, column}, or {column} for vectors.
  TileAddressing(const Graph& graph, const Node& node, const std::vector<int>& dims,
                 const std::vector<int64_t>& shape, const Format& format);

  /// Position of an element in the dense storage; -1 where a subscript is outside of the tensor or
  /// the element is padding.
  int64_t position(int64_t row, int64_t col) const {
    if (row >= rows_ || col >= cols_) return kPadding;
    if (!coupled_) {
      const int64_t r = row_position_[static_cast<size_t>(row)];
      const int64_t c = col_position_[static_cast<size_t>(col)];
      return r < 0 || c < 0 ? kOutside : r + c;
    }
    return coupled_position(row, col);
  }
  static constexpr int64_t kOutside = -1;
  static constexpr int64_t kPadding = -2;
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
