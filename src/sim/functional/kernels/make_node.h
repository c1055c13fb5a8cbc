// The node of each kind that the fast executor can run.
#pragma once

#include <memory>

#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Throws Error(rejected) for a kind that cannot be simulated.
std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id);
/// One row a file of kernels, which defines make_NAME_node: a node of its kinds, null of another
/// one.
#define FUSEFLOW_KERNELS(ROW) \
  ROW(source)                 \
  ROW(block)                  \
  ROW(token)                  \
  ROW(locate)                 \
  ROW(gallop)                 \
  ROW(join) ROW(reduce) ROW(accumulate) ROW(select) ROW(align) ROW(split) ROW(write)

#define FUSEFLOW_DECLARE_MAKER(name) \
  std::unique_ptr<EngineNode> make_##name##_node(const Context& context, NodeId id);
FUSEFLOW_KERNELS(FUSEFLOW_DECLARE_MAKER)
#undef FUSEFLOW_DECLARE_MAKER

}  // namespace fuseflow::engine
