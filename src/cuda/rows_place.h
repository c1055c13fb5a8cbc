// Where a kernel of rows has what its loops read, as C++ text; used by its steps (rows.h) and by
// the text of its rows (row_text.cpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chip/rows.h"
#include "cuda/kernel.h"

namespace fuseflow::cuda {

class RowsPlaces {
 public:
  explicit RowsPlaces(const Graph& graph);

  const RowsShape& shape() const { return shape_; }
  const chip::RowsOnCore& core() const { return core_; }
  const RowsCluster& cluster() const { return cluster_; }
  int64_t tile_rows() const { return core_.tile_rows; }
  /// Tiles of a width that one core has.
  int64_t own_tiles(int width) const;
  /// The number of the core's tile `tile` of a width among those of all cores.
  Coordinate tile_of(int width) const;
  /// The tile in the room of a stream.
  Coordinate tile_in_room(StreamId stream) const;
  /// Which of the cores that share rows this is.
  Coordinate column_core() const;

  /// Element (row, column) of a stream, in the room that it has; and what puts a value there.
  std::string element(StreamId stream) const;
  std::string put_element(StreamId stream, const std::string& value) const;
  /// The place of a row of what core number `core` reduced.
  std::string reduced(size_t number, const std::string& core) const;
  /// What loop number `loop` reads of earlier ones, and of its own staged sums.
  std::vector<std::pair<StreamId, std::string>> names(int loop) const;

  static std::string room_name(int room);
  static std::string staged_name(size_t number);
  static std::string reduced_name(size_t number);

 private:
  std::string place(StreamId stream) const;

  const Graph& graph_;
  RowsShape shape_;
  chip::RowsOnCore core_;
  RowsCluster cluster_;
};

}  // namespace fuseflow::cuda
