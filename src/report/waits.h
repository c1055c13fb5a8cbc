// What a node waits for: the node that its tokens, or room for them, come from too slowly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "report/node_table.h"

namespace fuseflow {

/// Whether a node was in a step for at least half of the time.
inline bool mostly_works(const NodeRow& row) {
  return row.busy >= row.starved + row.blocked;
}

/// Rows of one region's nodes, by number.
using RowsByNode = std::map<size_t, const NodeRow*>;

/// The nodes of a region's graph and who waits for whom. What reads a tensor that the graph itself
/// writes waits for the writer, too.
class Waits {
 public:
  Waits(const Graph& graph, const RowsByNode& rows);

  /// Of all nodes that the tokens of a mostly starved node come from, or that a mostly blocked one
  /// has to be taken from, the busiest; and so on from there, until a node that works for at least
  /// half of the time. Nothing where the node does so itself, or where all on the way do less.
  std::optional<size_t> of(size_t node) const;

 private:
  using Neighbours = std::vector<std::vector<size_t>>;  ///< by node
  std::optional<size_t> busiest_reached(const Neighbours& next, size_t from) const;
  bool works(size_t node) const;

  const RowsByNode& rows_;
  Neighbours producers_, consumers_;
};

}  // namespace fuseflow
