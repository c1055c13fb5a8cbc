#include "ir/stored.h"

#include "nodes/rule.h"

namespace fuseflow {

namespace {

void find_in_graph(const Graph& graph, int region, std::vector<Stored>& stored) {
  for (const Node& node : graph.nodes) {
    if (node.tensor < 0) continue;
    Stored& tensor = stored[static_cast<size_t>(node.tensor)];
    if (tensor.region != region) continue;
    if (stores_result(node.kind)) tensor.written = true;
    if (node.kind == NodeKind::array) tensor.read_back = true;
  }
}

}  // namespace

std::vector<Stored> stored_tensors(const Program& program) {
  std::vector<Stored> stored(program.tensors.size());
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (const Statement& statement : region.statements) {
      Stored& tensor = stored[static_cast<size_t>(statement.result)];
      tensor.region = static_cast<int>(r);
      tensor.written = !region.graph && !is_internal(program, r, statement.result);
    }
    if (region.graph) find_in_graph(*region.graph, static_cast<int>(r), stored);
  }
  return stored;
}

}  // namespace fuseflow
