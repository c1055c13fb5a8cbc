#include "energy/actions.h"

#include <algorithm>
#include <cmath>

#include "graph/blocks.h"
#include "graph/tiles.h"
#include "nodes/rule.h"
#include "resources/operators.h"
#include "resources/resources.h"

namespace fuseflow {
namespace {

constexpr double kWordBytes = 4;

/// Values of so many bytes are worked on at this width.
Width width_of(int64_t bytes) {
  return bytes >= 4 ? Width::w32 : bytes >= 2 ? Width::w16 : Width::w8;
}

/// `evaluations` of an operator.
void add_operator(Actions& actions, Op op, double evaluations, Width width) {
  const Parts parts = parts_of(op);
  for (size_t a = 0; a < parts.size(); ++a) {
    actions[operation(static_cast<Arithmetic>(a), width)] += parts[a] * evaluations;
  }
}

/// A product of blocks: of `depth` products and depth - 1 sums each.
void add_contraction(Actions& actions, const Graph& graph, const Node& node, double flops) {
  const auto depth = static_cast<double>(block_volume(graph, node.contract));
  const double elements = flops / (2 * depth - 1);
  actions[operation(Arithmetic::mul, Width::w32)] += depth * elements;
  actions[operation(Arithmetic::add, Width::w32)] += (depth - 1) * elements;
}

/// The operations that the FLOPs of a node are made of. Streams carry f32; tiles are multiplied at
/// the width of their elements and summed in f32.
void add_operations(Actions& actions, const Graph& graph, const Node& node, double flops) {
  if (flops <= 0) return;
  if (node.kind == NodeKind::map && !node.contract.empty()) {
    return add_contraction(actions, graph, node, flops);
  }
  if (node.kind == NodeKind::map) {
    return add_operator(actions, node.op, flops / op_info(node.op).flops, Width::w32);
  }
  if (node.kind == NodeKind::tile_multiply) {
    const Width width = width_of(graph.tiles ? graph.tiles->element_bytes : 4);
    actions[operation(Arithmetic::mul, width)] += flops / 2;
    actions[operation(Arithmetic::add, Width::w32)] += flops / 2;
    return;
  }
  // Reductions of streams, and of tiles over cores.
  const bool says = node_rule(node.kind).fields->reduction;
  const Arithmetic sum = says ? arithmetic_of(node.reduction) : Arithmetic::add;
  actions[operation(sum, Width::w32)] += flops;
}

/// Bytes read and written in what a node holds itself: a buffer each token twice, an accumulator
/// an entry's value twice for each value taken, and what it flushes once.
double buffered_bytes(const Node& node, const NodeWork& work) {
  switch (node_rule(node.kind).holds) {
    case KeptState::nothing:
      return 0;
    case KeptState::tokens:
      return 2 * kWordBytes * work.words_in;
    case KeptState::entries:
      return kWordBytes * (2 * work.flops + work.words_out);
  }
  return 0;
}

Actions of_stream_node(const Graph& graph, const Machine& machine, const Node& node,
                       const NodeWork& work) {
  Actions actions;
  add_operations(actions, graph, node, work.flops);
  actions[step_of(unit_class(node.kind))] = work.steps;
  actions[kFifoWord] = work.words_in;
  actions[kBufferByte] = buffered_bytes(node, work);
  const bool converts = node.kind == NodeKind::convert;  // its counters are on chip
  if (!graph.on_chip(node.tensor) && !converts) return actions;
  const double read = converts ? work.tile_scratchpad_read : work.read_bytes;
  const double written = converts ? work.tile_scratchpad_write : work.write_bytes;
  const auto tiles = static_cast<double>(machine.scratchpad.tiles);
  actions[kScratchpadReadByte] = read;
  actions[kScratchpadWriteByte] = written;
  actions[kLinkByte] = (read + written) * (tiles - 1) / tiles;
  return actions;
}

Actions of_tile_node(const Graph& graph, const Node& node, const NodeWork& work) {
  Actions actions;
  add_operations(actions, graph, node, work.flops);
  actions[kScratchpadReadByte] = work.tile_scratchpad_read;
  actions[kScratchpadWriteByte] = work.tile_scratchpad_write;
  actions[kLinkByte] = work.tile_link;
  actions[kRegisterByte] = work.tile_registers;
  return actions;
}

}  // namespace

ActionInfo action_info(ActionId action) {
  if (action < kFirstStep) {
    const auto arithmetic = static_cast<Arithmetic>(action / kWidths);
    const auto width = static_cast<Width>(action % kWidths);
    return {"operators", arithmetic_name(arithmetic, width), ActionGroup::operators};
  }
  if (action < kFirstNamed) {
    const auto unit = static_cast<UnitClass>(action - kFirstStep);
    return {unit_class_name(unit), "step", ActionGroup::steps};
  }
  static constexpr std::array<ActionInfo, kActions - kFirstNamed> kNamed = {{
      {"fifo", "word", ActionGroup::fifo},
      {"buffer_memory", "byte", ActionGroup::buffer},
      {"scratchpad", "read_byte", ActionGroup::scratchpad},
      {"scratchpad", "write_byte", ActionGroup::scratchpad},
      {"link", "byte", ActionGroup::link},
      {"registers", "byte", ActionGroup::registers},
      {"dram", "burst", ActionGroup::dram},
      {"dram", "activation", ActionGroup::dram},
      {"machine", "leak", ActionGroup::leakage},
  }};
  return kNamed[action - kFirstNamed];
}

Actions& Actions::operator+=(const Actions& other) {
  for (size_t i = 0; i < count.size(); ++i) count[i] += other.count[i];
  return *this;
}

Actions RegionActions::sum() const {
  Actions all;
  for (const Actions& node : nodes) all += node;
  all += memory;
  all += loading;
  all += leakage;
  return all;
}

RegionActions region_actions(const Graph& graph, const Machine& machine, const RegionWork& work) {
  RegionActions result;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    result.nodes.push_back(graph.tiles ? of_tile_node(graph, node, work.nodes[n])
                                       : of_stream_node(graph, machine, node, work.nodes[n]));
  }
  const auto tiles = static_cast<double>(machine.scratchpad.tiles);
  result.memory[kDramBurst] = work.bursts;
  result.memory[kDramActivation] = work.activations;
  result.loading[kScratchpadWriteByte] = work.loaded_bytes;
  result.loading[kLinkByte] = work.loaded_bytes * (tiles - 1) / tiles;
  result.leakage[kLeak] = work.cycles;
  return result;
}

std::vector<double> token_words(const Graph& graph) {
  std::vector<double> words;
  words.reserve(graph.streams.size());
  for (const Stream& stream : graph.streams) {
    words.push_back(static_cast<double>(std::max<int64_t>(1, block_volume(graph, stream.block))));
  }
  return words;
}

double bursts_of(const Machine& machine, double bytes) {
  return std::ceil(bytes / static_cast<double>(machine.dram.burst_bytes));
}

}  // namespace fuseflow
