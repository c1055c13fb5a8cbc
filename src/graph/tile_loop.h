// The loops of a graph of tiles of whatever form, as far as its values depend on them: which
// dimensions are walked outside, and the loops that follow each other within a step of these. Made
// of the text. Meaning: ir-spec/cluster.md, "One form of tiles".
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// Nodes that are done together for each tile along a dimension, in order, without loads.
struct TileLoop {
  int index = -1;  ///< the dimension; -1: they are done once
  std::vector<NodeId> nodes;
};

struct TileLoops {
  std::vector<int> outer;  ///< dimensions, the outermost first
  std::vector<TileLoop> loops;
};

/// A product has the loop over what it sums to itself, but where several reductions walk k together
/// and read what the others hold: these share one. Of a kernel of rows the inner loops are those of
/// its text; a chain walks the columns of C, then those of E; a kernel of one loop walks k where it
/// reduces rows, and the columns that a product after its steps sums. Needs a graph that the
/// verifier accepts.
TileLoops tile_loops(const Graph& graph);

}  // namespace fuseflow
