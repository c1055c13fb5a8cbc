// What the streams of a graph wait for, whatever is buffered.
#pragma once

#include <limits>
#include <vector>

#include "graph/graph.h"
#include "lower/node_set.h"

namespace fuseflow {

/// The nodes of one phase, [first, last). Streams do not leave their phase; sets of nodes count
/// from its first.
struct PhaseNodes {
  NodeId first = 0;
  NodeId last = 0;

  size_t bit(NodeId n) const { return static_cast<size_t>(n - first); }
  NodeId node(size_t bit) const { return first + static_cast<NodeId>(bit); }
};

/// By phase.
std::vector<PhaseNodes> phases_of(const Graph& graph);

/// Sets of nodes for each stream and L: within one iteration of the outer L loops, L up to the
/// depth of the stream. All of a graph lie in one list.
class NodesByLevel {
 public:
  explicit NodesByLevel(const Graph& graph);

  size_t depth(StreamId s) const { return first_[s + 1] - first_[s] - 1; }
  NodeSet& at(StreamId s, size_t L) { return sets_[first_[s] + L]; }
  const NodeSet& at(StreamId s, size_t L) const { return sets_[first_[s] + L]; }

 private:
  std::vector<size_t> first_;  ///< by stream: the place of L = 0; and the end
  std::vector<NodeSet> sets_;
};

struct StreamWaits {
  NodesByLevel full;    ///< nodes that give their whole iteration before the stream goes on
  NodesByLevel silent;  ///< the same where a selection keeps nothing of it
  /// The selections that it comes through, all in step: streams of the same ones are silent
  /// together.
  NodesByLevel selections;
};

StreamWaits stream_waits(const Graph& graph, const std::vector<PhaseNodes>& phases);

/// How many outer loops a node reduces within: the depth of what it gives, or no limit for a node
/// that reduces nothing.
constexpr size_t kNoReduction = std::numeric_limits<size_t>::max();
size_t loops_around_reduction(const Graph& graph, const Node& node);

}  // namespace fuseflow
