// What steps on blocks (ir-spec/blocks.md) and on the scratchpad (ir-spec/timing.md) cost.
#include "sim/common/node_timing.h"

#include <algorithm>
#include <optional>

#include "graph/blocks.h"
#include "nodes/rule.h"
#include "resources/operators.h"
#include "resources/resources.h"
#include "support/ceil_div.h"
#include "support/latest.h"

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
    const std::vector<int>& block = graph.streams[s].block;
    work.blocks = work.blocks || !block.empty();
    work.volume = std::max(work.volume, block_volume(graph, block));
    for (const int index : block) {
      work.side = std::max(work.side, graph.indices[index].block);
    }
  };
  for (const Input& input : node.inputs) {
    if (!input.is_immediate()) add(input.stream);
  }
  for (const StreamId s : node.outputs) add(s);
  return work;
}

/// Bytes that a step moves to or from the scratchpad at most; 0 for nodes that do not use it.
int64_t scratchpad_bytes(const Program& program, const Graph& graph, const Node& node) {
  constexpr int64_t kWord = 4;  // a position or a coordinate
  if (!graph.on_chip(node.tensor)) return 0;
  if (node_rule(node.kind).fields->other_level) return 2 * kWord;  // the heads of both levels
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  if (node.kind == NodeKind::array || node.kind == NodeKind::write_values) {
    return element_bytes(tensor.type) * tensor.format.block_volume();
  }
  const LevelKind level = tensor.format.levels[static_cast<size_t>(node.level)];
  return level == LevelKind::dense ? 0 : kWord;  // a dense level is not stored
}

/// Cycles between two slots of a port whose phases' ports move `bytes` a round: they take turns.
int64_t slot_interval(const ScratchpadModel& model, int64_t bytes) {
  int64_t interval = 1;
  if (model.bytes_per_cycle > 0) interval = ceil_div(bytes, model.bytes_per_cycle);
  if (model.link_bytes_per_cycle == 0) return interval;
  const int64_t crossing = bytes - bytes / model.tiles;  // all but what stays, rounded up
  return std::max(interval, ceil_div(crossing, model.link_bytes_per_cycle));
}

/// The timing of a node's class, or of its operator where that has a timing of its own.
UnitTiming unit_timing(const Machine& machine, const Node& node) {
  UnitTiming timing = machine.timing(unit_class(node.kind));
  if (node.kind != NodeKind::map) return timing;
  const std::optional<OperatorClass> which = operator_class(node.op);
  if (!which) return timing;
  const OperatorTiming& slow = machine.operators[static_cast<size_t>(*which)];
  if (slow.latency_cycles > 0) timing.latency_cycles = slow.latency_cycles;
  if (slow.interval_cycles > 0) timing.interval_cycles = slow.interval_cycles;
  return timing;
}

UnitTiming block_timing(const Machine& machine, const Graph& graph, const Node& node) {
  UnitTiming timing = unit_timing(machine, node);
  const bool works = makes_values(node.kind) || node.kind == NodeKind::array;
  const Work work = works ? work_of(graph, node) : Work{};
  if (!work.blocks) return timing;
  const BlockTiming& block = machine.block;
  const auto at_least = [&](int64_t cycles) {
    timing.latency_cycles = std::max(timing.latency_cycles, cycles);
  };
  if (!node.contract.empty()) {
    const int64_t steps = capped_product(block.product_interval_cycles_per_side, work.side);
    timing.interval_cycles = capped_product(timing.interval_cycles, std::max<int64_t>(1, steps));
    at_least(capped_product(block.product_latency_cycles_per_side, work.side) - 1);
    return timing;
  }
  if (block.lanes > 0) {
    timing.interval_cycles =
        capped_product(timing.interval_cycles, ceil_div(work.volume, block.lanes));
  }
  if (node.kind == NodeKind::array) {
    at_least(capped_product(block.load_latency_cycles_per_element, work.volume));
  } else if (reduces(node.kind)) {
    timing.latency_cycles += capped_product(block.reduce_latency_cycles_per_element, work.volume);
  } else if (node.kind == NodeKind::map && node.inputs.size() == 1) {
    at_least(capped_product(block.unary_latency_cycles_per_side, work.side));
  } else {
    at_least(capped_product(block.elementwise_latency_cycles_per_element, work.volume));
  }
  return timing;
}

}  // namespace

std::vector<UnitTiming> node_timings(const Program& program, const Machine& machine,
                                     const Graph& graph) {
  // By the last of the phases that run together: what their ports move a round.
  std::vector<int64_t> bytes(static_cast<size_t>(graph.phases()));
  const auto together = [&](const Node& node) {
    return static_cast<size_t>(
        machine.phases_hold_units_together ? 0 : graph.last_started_with(node.phase));
  };
  std::vector<UnitTiming> timings;
  std::vector<int64_t> moved;  // by node
  timings.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    timings.push_back(block_timing(machine, graph, node));
    moved.push_back(scratchpad_bytes(program, graph, node));
    bytes[together(node)] += moved.back();
  }
  for (size_t n = 0; n < timings.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (moved[n] == 0) continue;
    UnitTiming& timing = timings[n];
    timing.latency_cycles += machine.scratchpad.latency_cycles;
    timing.interval_cycles =
        std::max(timing.interval_cycles, slot_interval(machine.scratchpad, bytes[together(node)]));
  }
  return timings;
}

}  // namespace fuseflow
