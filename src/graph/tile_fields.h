// What graphs of tiles have beside what every graph has: the fields that Graph, GraphIndex and Node
// (graph/graph.h) hold for them. Data only; what follows from them is in graph/tiles.h,
// graph/tile_kernel.h and graph/tile_rows.h. Meaning: ir-spec/cluster.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/cluster_shape.h"

namespace fuseflow {

/// One of the loops that a dimension of tiles is made of.
struct TileDigit {
  std::string name;
  int64_t extent = 1;
  bool operator==(const TileDigit&) const = default;
};

/// Where an element of a tile is in one dimension of a tensor: offset + sum of coefficient * digit.
/// Digits are numbered over all dimensions of the graph, in their order.
struct TileSubscript {
  std::vector<std::pair<int, int64_t>> terms;
  int64_t offset = 0;
  bool operator==(const TileSubscript&) const = default;
};

/// Tiles of k, [begin, end).
struct TileRange {
  int64_t begin = 0, end = 1;
  bool operator==(const TileRange&) const = default;
};

/// Says that a graph is one of tiles. Its four indices are m, n, k, l in this order (a chain), or
/// m, n, k, g (and perhaps l): a kernel (graph/tile_kernel.h), in which `reduce` takes tiles alone.
struct TileMapping {
  std::vector<Dim> loops;  ///< in time, the outermost first; the others are spread over clusters
  GatedWay way = GatedWay::none;
  /// Bytes of an element at which products run and tiles are held; partial sums have 4. Loads and
  /// stores of other tensors say theirs (TileFields::element_bytes).
  int64_t element_bytes = 2;
  /// A kernel whose reductions hold results: steps of k without a pair k - m of elements in this
  /// range are left out, at least one is taken. What they would give adds nothing: it is masked.
  std::optional<std::array<int64_t, 2>> band = std::nullopt;
  /// Where the band has holes, instead of it: for each tile of rows the tiles of k that are walked,
  /// as ranges, ascending, with gaps between them. Empty: not said.
  std::vector<std::vector<TileRange>> open = {};
};

/// How the dimension of an index is tiled.
struct TileDimension {
  int cluster = 1;  ///< blocks (cores) of a cluster along it
  /// The loops of the statements that it stands for, the slowest first.
  std::vector<TileDigit> digits = {};
};

/// Of a node of a graph of tiles. Its `capacity` is:
///   tile_load: tiles that the buffer has room for
///   tile_multiply: accumulators; within a step the steps ahead; gathering, a step's rows
///   tile_store: clusters that add to a tile in memory
struct TileFields {
  /// One a tensor dimension; tile_coordinate: the one that it gives
  std::vector<TileSubscript> subscripts = {};
  int branch = -1;            ///< only on the cores of this branch of a split chain
  int64_t element_bytes = 0;  ///< of its tensor; 0: TileMapping's
  bool by_threads = false;    ///< tile_load: each core brings its tile itself, none is shared
  /// tile_hold: bytes of C, tile_multiply: bytes of partial results that a core keeps in registers,
  /// its scratchpad, linked scratchpads and global memory
  std::array<int64_t, 4> held{};
};

}  // namespace fuseflow
