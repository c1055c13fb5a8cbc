// The node of each kind that the fast executor can run.
#pragma once

#include <memory>

#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Throws Error(rejected) for a kind that cannot be simulated.
std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id);
/// One row a file of kernels, which defines make_NAME_node: a node of its kinds, null of another
/// one. Asked in this order: `block` takes kinds of `token` where they work on blocks.
#define FUSEFLOW_KERNELS(ROW)                                 \
  ROW(source) /* root, scan */                                \
  ROW(block)  /* map and coordinate over blocks, pad */       \
  ROW(token)  /* map, coordinate, buffer, repeat */           \
  ROW(array)                                                  \
  ROW(locate)                                                 \
  ROW(gallop)                                                 \
  ROW(join) /* intersect, unite, leftjoin, intersect_words */ \
  ROW(reduce)                                                 \
  ROW(accumulate)                                             \
  ROW(select) /* filter, drop, parallelize */                 \
  ROW(serialize)                                              \
  ROW(align)                                                  \
  ROW(write) /* write_level, write_values */

#define FUSEFLOW_DECLARE_MAKER(name) \
  std::unique_ptr<EngineNode> make_##name##_node(const Context& context, NodeId id);
FUSEFLOW_KERNELS(FUSEFLOW_DECLARE_MAKER)
#undef FUSEFLOW_DECLARE_MAKER

}  // namespace fuseflow::engine
