// Which inputs of a graph need a buffer so that it ends on bounded streams.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lower/node_set.h"
#include "lower/stream_waits.h"

namespace fuseflow {

struct BufferNeed {
  int loops = 0;    ///< L: it has to hold the tokens of an iteration of the outer L loops
  NodeSet awaited;  ///< what gives whole iterations to what is waited for, counted from the first
                    ///< node of the phase; of these none may be held up by the input
};

using BufferNeeds = std::map<std::pair<NodeId, size_t>, BufferNeed>;  ///< by node and input

/// Notes that an input needs a buffer for iterations of `loops` loops, because of `awaited`.
void add_need(BufferNeeds& needs, NodeId node, size_t input, int loops, const NodeSet& awaited);

/// Finds the needs of one graph, for several sets of buffers that it may have already. The graph
/// must outlive it.
class BufferSearch {
 public:
  explicit BufferSearch(const Graph& graph);

  /// All needs, where the inputs `given` are buffered already; these are among them.
  BufferNeeds needs(const BufferNeeds& given = {}) const;

 private:
  const Graph& graph_;
  const std::vector<PhaseNodes> phases_;
  const StreamWaits waits_;  ///< what buffers do not change
};

}  // namespace fuseflow
