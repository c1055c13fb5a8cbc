// What a node waits for in the end: the node that works, the memory that answers late, or the full
// FIFO.
#pragma once

#include <optional>
#include <vector>

#include "verdict/figures.h"

namespace fuseflow {

/// Cycles in which a node is itself what others wait for: it is in a step, or waits for memory.
inline double works(const NodeFigures& node) {
  return node.busy + node.memory;
}

/// Whether that is so for at least half of the time.
inline bool mostly_works(const NodeFigures& node) {
  return works(node) >= node.starved + node.blocked;
}

/// What holds a node up.
struct Holder {
  size_t node = 0;       ///< which works most; of a stream: its producer
  bool memory = false;   ///< it waits for memory for longer than it is in steps
  StreamId stream = -1;  ///< no node works for half of the time, and this stream is full: its FIFO
};

/// The nodes of a region's graph and who waits for whom. What reads a tensor that the graph itself
/// writes waits for the writer, too.
class Waits {
 public:
  /// The graph and the figures must outlive this object.
  Waits(const Graph& graph, const RegionFigures& figures);

  /// What holds up a node. From a node that is mostly starved, the way leads to the node that works
  /// most of all that its tokens come from; from one that is mostly blocked, to the one that works
  /// most of all that take them; until a node works for at least half of the time. Where none on
  /// the way does, a stream that was full (holding_stream), if there is one. Nothing where the node
  /// itself works, or where all on the way do less.
  std::optional<Holder> of(size_t node) const;

 private:
  using Neighbours = std::vector<std::vector<size_t>>;  ///< by node
  std::optional<size_t> most_working(const Neighbours& next, size_t from) const;
  std::optional<Holder> fullest() const;
  const NodeFigures& figures(size_t node) const { return figures_.nodes[node]; }

  const Graph& graph_;
  const RegionFigures& figures_;
  Neighbours producers_, consumers_;
};

/// The stream that holds up its region: of those that blocked their producers for nearly the
/// longest time, the one whose producer has the most steps, since streams of outer loops are full
/// whatever holds up the inner ones. Only producers of phases first .. last count. -1: none was
/// blocked, or it is not known.
StreamId holding_stream(const Graph& graph, const RegionFigures& figures, int first, int last);

/// The stream that blocks the nearest of the nodes from which a node's tokens come that is blocked
/// for most of the time; -1: there is none.
StreamId stream_before(const Graph& graph, const RegionFigures& figures, NodeId node);

}  // namespace fuseflow
