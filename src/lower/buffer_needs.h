// Which inputs of a graph need a buffer so that it ends on bounded streams.
#pragma once

#include <map>
#include <utility>

#include "graph/graph.h"
#include "lower/node_set.h"

namespace fuseflow {

struct BufferNeed {
  int loops = 0;    ///< L: it has to hold the tokens of an iteration of the outer L loops
  NodeSet awaited;  ///< what gives whole iterations to what is waited for, counted from the first
                    ///< node of the phase; of these none may be held up by the input
};

using BufferNeeds = std::map<std::pair<NodeId, size_t>, BufferNeed>;  ///< by node and input

/// All needs, where the inputs `given` are buffered already; these are among them.
BufferNeeds find_buffer_needs(const Graph& graph, const BufferNeeds& given = {});

/// Of each node, the first of its phase.
std::vector<NodeId> first_of_phases(const Graph& graph);

}  // namespace fuseflow
