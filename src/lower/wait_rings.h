// Waits that are harmless alone, but hold up each other through other nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "lower/buffer_needs.h"
#include "lower/stream_waits.h"

namespace fuseflow {

/// An input that waits for others of its node, though it blocks none of those that it waits for.
struct InputWait {
  NodeId node = -1;
  size_t input = 0;
  int loops = 0;
  NodeSet live;  ///< nodes that the input blocks while it waits
  NodeSet full;  ///< nodes that must give their whole iteration first
};

/// Adds the buffers that the waits of a phase need so that no ring of them holds itself up. `live`:
/// the nodes that a stream blocks where it is not taken, for L below its depth. Inputs with needs
/// are buffered.
void break_rings(const Graph& graph, const PhaseNodes& phase, const NodesByLevel& live,
                 const std::vector<InputWait>& waits, BufferNeeds& needs);

}  // namespace fuseflow
