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

/// Each list is indexed by L: within one iteration of the outer L loops, up to the depth of the
/// stream.
struct StreamWaits {
  std::vector<NodeSet> full;    ///< nodes that give their whole iteration before the stream goes on
  std::vector<NodeSet> silent;  ///< the same where a selection keeps nothing of it
  /// The selections that it comes through, all in step: streams of the same ones are silent
  /// together.
  std::vector<NodeSet> selections;
};

/// By stream.
std::vector<StreamWaits> stream_waits(const Graph& graph, const std::vector<PhaseNodes>& phases);

/// How many outer loops a node reduces within: the depth of what it gives, or no limit for a node
/// that reduces nothing.
constexpr size_t kNoReduction = std::numeric_limits<size_t>::max();
size_t loops_around_reduction(const Graph& graph, const Node& node);

}  // namespace fuseflow
