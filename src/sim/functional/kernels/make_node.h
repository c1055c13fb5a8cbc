// The node of each kind that the fast executor can run.
#pragma once

#include <memory>

#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Throws Error(rejected) for a kind that cannot be simulated.
std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id);
// By kind; null if the kind is another file's.
std::unique_ptr<EngineNode> make_source_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_block_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_token_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_locate_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_gallop_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_join_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_reduce_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_select_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_write_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_split_node(const Context& context, NodeId id);

}  // namespace fuseflow::engine
