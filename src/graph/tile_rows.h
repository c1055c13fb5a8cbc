// Kernels of rows: the third form of a graph of tiles. Statements that work on each row of their
// tensors apart (products with weights, elementwise operators, reductions of rows) one after the
// other on a tile of rows, all in one kernel. What follows from the text; nothing of machines or
// execution. Meaning: ir-spec/cluster.md, "Kernels of rows".
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/tile_loop.h"
#include "graph/tiles.h"

namespace fuseflow {

/// Rows, the batch (of which a tile has one element), then the widths.
enum RowsDim : int { kRowsM, kRowsG, kRowsWidths };

/// Is this graph of tiles a kernel of rows? Its second index is g.
bool is_tile_rows(const Graph& graph);

/// Room in a core's scratchpad for the tiles of streams that are there when their loop has ended.
/// Streams of the same size share one when the first has been read for the last time.
struct RowsPlace {
  int64_t tiles = 0;     ///< that a core has room for
  int64_t elements = 0;  ///< of a tile
  bool operator==(const RowsPlace&) const = default;
};

/// Room for the tiles of a load. Weights (two widths) with tiles of one size and one element size
/// share it, as they take turns, unless there is room for all of their tiles.
struct RowsBufferSize {
  int64_t copies = 0;
  int64_t elements = 0;       ///< of a tile
  int64_t element_bytes = 0;  ///< of an element
  bool shared = false;
};

struct RowsShape {
  std::vector<TileLoop> loops;  ///< over widths; once: for a tile of rows
  std::vector<int> loop_of;     ///< by node; -1: a load
  std::vector<NodeId> loads, stores;
  std::vector<RowsPlace> places;
  std::vector<int> place_of;  ///< by stream; -1: it is in registers alone
  std::vector<RowsBufferSize> buffers;
  std::vector<int> buffer_of;  ///< by node; -1: no load
};
/// Needs a graph that verify_rows (nodes/rows_check.h) accepts.
RowsShape rows_shape(const Graph& graph);

/// By stream: the last loop that reads it; -1: none.
std::vector<int> last_loops(const Graph& graph, const RowsShape& shape);

/// The position of the first of some places for which `fits` holds; where there is none, of
/// `wanted`, which is added.
template <typename Place, typename Fits>
size_t take_place(std::vector<Place>& places, const Place& wanted, const Fits& fits) {
  size_t at = 0;
  while (at < places.size() && !fits(at)) ++at;
  if (at == places.size()) places.push_back(wanted);
  return at;
}

/// The width of a stream of rows: the dimension of its tiles beside m; -1: they are (m) alone.
int rows_width(const Graph& graph, StreamId stream);

/// Cores of a cluster: so many tiles of rows, each on so many cores that share its widths.
struct RowsCluster {
  int rows = 1, wide = 1;
  int cores() const { return rows * wide; }
};
RowsCluster rows_cluster(const Graph& graph);

/// Tiles of rows of all elements of the batch.
int64_t rows_tiles(const Graph& graph);

}  // namespace fuseflow
