// A plan as a dataflow graph of tiles: one node a tile operation of one core of one cluster, edges
// for the tiles that flow (operands) and for the space they need (order). Every cluster of a plan
// runs the same graph at its own coordinates. Timing is in tile_timing, values in tile_values.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/analyzer.h"

namespace fuseflow::cluster {

enum class TileKind : uint8_t {
  load,      ///< a tile from global memory
  multiply,  ///< acc (+)= left * right on the matrix unit
  send,      ///< tiles over the links to the other cores of a group
  sum,       ///< all-exchange: this core's rows of C, summed over the group and activated
  finish,    ///< a whole C tile put where it is held (activated here when nothing was exchanged)
  fetch,     ///< held C brought back from linked scratchpads or global memory
  spill,     ///< a partial E tile put where it is held
  refill,    ///< ... and fetched again
  reduce,    ///< reduce-scatter: this core's rows of E, summed over the group
  store,     ///< E to global memory (added there when clusters share it)
  map,       ///< an elementwise kernel on one tile (unfused programs)
};

enum class TileTensor : uint8_t { none, a, b, d, e, bias0, bias1, residual, x, y };

/// One tile operation. Row and column are element offsets of the tile in its tensor, for the
/// cluster at the origin; `row_dim` and `col_dim` tell how a cluster's coordinates shift them.
struct TileNode {
  TileKind kind = TileKind::load;
  TileTensor tensor = TileTensor::none;
  uint8_t core = 0;
  uint8_t branch = 0;  ///< of a gated chain
  uint8_t part = 0;    ///< this core's share of a summed tile
  uint8_t parts = 1;   ///< shares of a summed tile
  bool late = false;   ///< waits for the matrix unit's pipeline to drain
  int32_t row = 0, col = 0;
  int32_t rows = 0, cols = 0;
  LevelBytes bytes;
  int64_t flops = 0;
  int32_t first_operand = 0, operands = 0;  ///< range in TileGraph::edges: data
  int32_t first_order = 0, orders = 0;      ///< range in TileGraph::edges: space
};

struct TileGraph {
  std::vector<TileNode> nodes;  ///< in a topological order
  std::vector<int32_t> edges;
  int cores = 1;
};

/// The cluster's coordinates: how many steps it is away from the origin along spatial dimensions.
using ClusterAt = Extents;

/// Clusters of a plan, M outermost and L innermost.
std::vector<ClusterAt> clusters_of(const Plan& plan, const Trips& trips);

/// Nodes that build_graph would make for one cluster.
int64_t graph_size(const Plan& plan, const Analysis& analysis);

/// Lowers a plan that has no obstacle. With `epilogue`, E gets bias1 and residual. Throws
/// Error(unfinished) above 2^22 nodes.
TileGraph build_graph(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      bool epilogue);

}  // namespace fuseflow::cluster
