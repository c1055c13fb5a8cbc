// What steps on blocks cost (ir-spec/blocks.md).
#include <algorithm>

#include "graph/blocks.h"
#include "sim/run.h"

namespace fuseflow {

namespace {

/// Extents over all loops that a node's values extend over, contracted ones included.
struct Work {
  int64_t side = 1;
  int64_t volume = 1;  ///< of the largest operand or result
  bool blocks = false;
};

Work work_of(const Graph& graph, const Node& node) {
  Work work;
  const auto add = [&](StreamId s) {
    const std::vector<int>& block = graph.streams[static_cast<size_t>(s)].block;
    work.blocks = work.blocks || !block.empty();
    work.volume = std::max(work.volume, block_volume(graph, block));
    for (const int index : block) {
      work.side = std::max(work.side, graph.indices[static_cast<size_t>(index)].block);
    }
  };
  for (const Input& input : node.inputs) {
    if (!input.is_immediate()) add(input.stream);
  }
  for (const StreamId s : node.outputs) add(s);
  return work;
}

}  // namespace

UnitTiming node_timing(const Machine& machine, const Graph& graph, const Node& node) {
  UnitTiming timing = machine.timing(unit_class(node.kind));
  const bool works = node.kind == NodeKind::map || node.kind == NodeKind::pad ||
                     node.kind == NodeKind::coordinate || node.kind == NodeKind::array ||
                     node.kind == NodeKind::reduce || node.kind == NodeKind::accumulate;
  const Work work = works ? work_of(graph, node) : Work{};
  if (!work.blocks) return timing;
  const BlockTiming& block = machine.block;
  const auto at_least = [&](int64_t cycles) {
    timing.latency_cycles = std::max(timing.latency_cycles, cycles);
  };
  if (!node.contract.empty()) {
    timing.interval_cycles *=
        std::max<int64_t>(1, block.product_interval_cycles_per_side * work.side);
    at_least(block.product_latency_cycles_per_side * work.side - 1);
    return timing;
  }
  if (block.lanes > 0) timing.interval_cycles *= (work.volume + block.lanes - 1) / block.lanes;
  if (node.kind == NodeKind::array) {
    at_least(block.load_latency_cycles_per_element * work.volume);
  } else if (node.kind == NodeKind::reduce || node.kind == NodeKind::accumulate) {
    timing.latency_cycles += block.reduce_latency_cycles_per_element * work.volume;
  } else if (node.kind == NodeKind::map && node.inputs.size() == 1) {
    at_least(block.unary_latency_cycles_per_side * work.side);
  } else {
    at_least(block.elementwise_latency_cycles_per_element * work.volume);
  }
  return timing;
}

}  // namespace fuseflow
