// The node of each kind that the fast executor can run.
#pragma once

#include <memory>

#include "graph/node_kinds.h"
#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Throws Error(rejected) for a kind that cannot be simulated.
std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id);

/// run_KIND: the node of each kind.
#define FUSEFLOW_DECLARE_RUN(kind) \
  std::unique_ptr<EngineNode> run_##kind(const Context& context, NodeId id);
FUSEFLOW_STREAM_KINDS(FUSEFLOW_DECLARE_RUN)
#undef FUSEFLOW_DECLARE_RUN

/// Makes the node of a map or a coordinate over blocks, which have classes of their own; null for
/// other nodes.
std::unique_ptr<EngineNode> run_over_blocks(const Context& context, NodeId id);

/// Says which class runs a kind: each has one such line, or the executor does not link.
#define FUSEFLOW_RUN(kind, Class)                                             \
  std::unique_ptr<EngineNode> run_##kind(const Context& context, NodeId id) { \
    return std::make_unique<Class>(context, id);                              \
  }

}  // namespace fuseflow::engine
