#include "sim/functional/kernels/make_node.h"

#include <fmt/format.h>

#include "nodes/rule.h"

namespace fuseflow::engine {

namespace {

std::unique_ptr<EngineNode> run_node(const Context& context, NodeId id) {
  if (auto over_blocks = run_over_blocks(context, id)) return over_blocks;
  const Node& node = context.graph.nodes[id];
  switch (node.kind) {
#define FUSEFLOW_CASE(kind) \
  case NodeKind::kind:      \
    return run_##kind(context, id);
    FUSEFLOW_STREAM_KINDS(FUSEFLOW_CASE)
#undef FUSEFLOW_CASE
    default:
      break;
  }
  throw Error(ExitCode::rejected,
              fmt::format("a {} node does not run on streams", node_kind_name(node.kind)));
}

}  // namespace

std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id) {
  auto node = run_node(context, id);
  if (node->row_gates.any()) node->add_rows_lanes();
  return node;
}

}  // namespace fuseflow::engine
