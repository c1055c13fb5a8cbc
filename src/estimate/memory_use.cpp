#include "estimate/memory_use.h"

#include <algorithm>
#include <optional>

#include "estimate/ports.h"

namespace fuseflow::estimate {

std::vector<MemoryUse> memory_use(const Structure& structure, const Counts& counts,
                                  const MemoryTime& memory, const std::vector<NodeCost>& nodes,
                                  const std::vector<StoredArrays>& arrays) {
  const Graph& graph = *structure.graph;
  std::vector<MemoryUse> result(nodes.size());
  if (!memory.timed) return result;
  std::vector<bool> chip(structure.program->tensors.size(), false);
  for (const TensorId t : graph.scratchpad) chip[static_cast<size_t>(t)] = true;
  std::optional<ArrayBegins> begins;
  if (!memory.begin_together && !memory.batched) begins.emplace(structure, arrays);
  const Ports ports(structure, counts, nodes, arrays, begins ? &*begins : nullptr,
                    memory.burst_bytes, memory.banks.refresh());
  for (size_t n = 0; n < nodes.size(); ++n) {
    const TensorId tensor = graph.nodes[n].tensor;
    if (tensor < 0 || chip[static_cast<size_t>(tensor)]) continue;
    const NodeNumbers numbers = node_numbers(structure, counts, n);
    MemoryUse& use = result[n];
    use.asks = true;
    use.span = nodes[n].busy;
    const std::vector<Port> asked = ports.of(n);
    for (const Port& port : asked) {
      use.asked += memory.of_array(port);
      use.span = std::max(use.span, memory.of_port(port));
    }
    for (const Port& port : asked) {
      use.refreshed = std::max(use.refreshed, memory.refresh_delay(port, nodes[n].busy, use.span));
    }
    use.span += use.refreshed;
    // What is looked at next depends on what was found: nothing else is under way.
    if (numbers.node.kind == NodeKind::gallop) {
      use.span = nodes[n].busy + memory.latency * ports.waits_of_gallop(n);
    }
    if (nodes[n].read_bytes > 0) {
      use.waited = memory.latency * memory.reads_in_turn(numbers.node, numbers.level);
    }
    if (nodes[n].write_bytes > 0) use.acknowledged = memory.latency;
    if (memory.batched) use.span = memory.of_batches(numbers, nodes[n].busy);
  }
  return result;
}

}  // namespace fuseflow::estimate
