#include "sim/functional/kernels/make_node.h"

#include <fmt/format.h>

#include "nodes/rule.h"

namespace fuseflow::engine {

std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id) {
  using Maker = std::unique_ptr<EngineNode> (*)(const Context&, NodeId);
#define FUSEFLOW_MAKER(name) &make_##name##_node,
  for (const Maker maker : {FUSEFLOW_KERNELS(FUSEFLOW_MAKER)}) {
#undef FUSEFLOW_MAKER
    auto node = maker(context, id);
    if (node == nullptr) continue;
    if (node->row_gates.any()) node->add_rows_lanes();
    return node;
  }
  const Node& node = context.graph.nodes[static_cast<size_t>(id)];
  throw Error(ExitCode::rejected,
              fmt::format("the simulator cannot run a {} node yet", node_kind_name(node.kind)));
}

}  // namespace fuseflow::engine
