#include "estimate/costs.h"

#include <algorithm>

#include "estimate/first_output.h"
#include "estimate/memory_use.h"
#include "estimate/region_time.h"
#include "nodes/look_up.h"
#include "nodes/rule.h"
#include "sim/run.h"
#include "tensor/format.h"

namespace fuseflow::estimate {

namespace {

class CostCalculator {
 public:
  CostCalculator(const Structure& s, const Counts& counts, const Machine& machine,
                 const std::vector<StoredArrays>& arrays)
      : s_(s),
        graph_(*s.graph),
        counts_(counts),
        machine_(machine),
        timings_(node_timings(*s.program, machine, *s.graph)),
        memory_(machine),
        arrays_(arrays) {}

  RegionCost run() {
    out_.nodes.resize(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      NodeCost& cost = out_.nodes[n];
      const Node& node = graph_.nodes[n];
      const NodeRule& rule = node_rule(node.kind);
      const NodeNumbers numbers = node_numbers(s_, counts_, n);
      time(n, rule.steps(numbers), cost);
      cost.flops = flops(node, rule);
      if (node.tensor < 0) continue;
      const ByteCounts bytes = rule.bytes(numbers);
      cost.read_bytes = bytes.read;
      cost.write_bytes = bytes.write;
      if (cost.certain) cost.least_bytes = least_bytes(n, rule);
    }
    add_bytes();
    for (size_t i = 0; i < graph_.streams.size(); ++i) {
      if (s_.consumers[i] > 0) out_.tokens += in_space(static_cast<StreamId>(i)).tokens();
    }
    add_time();
    return std::move(out_);
  }

 private:
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }
  const Tensor& tensor(const Node& node) const {
    return s_.program->tensors[static_cast<size_t>(node.tensor)];
  }

  /// Whether the coordinates of a look-up are always inside of the level.
  bool always_in_range(const Node& node) const {
    return is_always_inside(graph_, s_.spaces, node, tensor(node).level_extent(node.level));
  }

  /// How many references follow the one before is known of most, not of all; which coordinates of
  /// a look-up with an offset are out of range (and read nothing) is not counted.
  double least_bytes(size_t n, const NodeRule& rule) const {
    const Node& node = graph_.nodes[n];
    if (node.kind == NodeKind::locate && !always_in_range(node)) return 0;
    if (counts_.finds_by_values(node)) return 0;
    NodeCount own = counts_.node[n];
    own.successors = own.present * (node.other_tensor >= 0 ? 2 : 1);
    const NodeNumbers known = node_numbers(s_, counts_, n);
    const ByteCounts bytes =
        rule.bytes({graph_, s_.spaces, counts_.space, node, own, known.level, known.value_bytes});
    return bytes.read + bytes.write;
  }

  void time(size_t n, const StepCounts& steps, NodeCost& cost) const {
    const Node& node = graph_.nodes[n];
    const auto interval = static_cast<double>(timings_[n].interval_cycles);
    const auto drain = static_cast<double>(machine_.accumulate_drain_interval_cycles);
    const bool stops_cost = machine_.write_stops_take_steps;
    const double outer = machine_.accumulate_outer_stops_take_steps ? steps.outer_stops : 0;
    const double paid_steps = steps.steps + steps.searched + outer + (stops_cost ? steps.stops : 0);
    // How long a search takes depends on the fiber, and on whether there is one.
    const bool searches =
        node.kind == NodeKind::locate && (!always_in_range(node) || counts_.finds_by_values(node));
    const double unsure = searches ? steps.searched : 0;
    const double paid = paid_steps * interval;
    const bool last_is_free = steps.stops > 0 && !stops_cost;
    const double least = paid - (unsure + (last_is_free ? 0 : 1)) * interval;
    const double flush = steps.flushed * drain;
    cost.steps = steps.steps + steps.searched + steps.free + steps.stops + outer;
    if (node.kind == NodeKind::accumulate && machine_.accumulate_double_buffered) {
      // One store is filled while the other is drained; the last one is drained after all.
      const double fibers = reduced_fibers(s_, counts_, node);
      cost.busy = paid;
      cost.drained = std::max(flush + fibers * interval - paid, flush / fibers);
      cost.least = std::max(least, steps.least_flushed * drain);
    } else {
      cost.steps += steps.flushed;
      cost.busy = paid + flush;
      cost.least = least + steps.least_flushed * drain;
    }
    cost.certain = certain(node);
    if (!cost.certain) cost.least = 0;
    if (cost.certain) cost.least_steps = paid_steps - unsure - (last_is_free ? 0 : 1);
  }

  bool certain(const Node& node) const {
    const auto sure = [&](StreamId stream) {
      return counts_.certain[static_cast<size_t>(s_.space_of(stream))];
    };
    for (const Input& in : node.inputs) {
      if (!in.is_immediate() && !sure(in.stream)) return false;
    }
    return std::all_of(node.outputs.begin(), node.outputs.end(), sure);
  }

  double flops(const Node& node, const NodeRule& rule) const {
    const auto elements = [&](StreamId stream) {
      return stream < 0 ? 0 : in_space(stream).elements;
    };
    const double taken = node.inputs.empty() ? 0 : elements(node.inputs.back().stream);
    const double given = node.outputs.empty() ? 0 : elements(node.outputs.back());
    return rule.flops(graph_, node, taken, given);
  }

  void add_bytes() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const NodeCost& cost = out_.nodes[n];
      out_.flops += cost.flops;
      if (node.tensor < 0) continue;
      const bool chip = graph_.on_chip(node.tensor);
      (chip ? out_.scratchpad_read_bytes : out_.dram_read_bytes) += cost.read_bytes;
      (chip ? out_.scratchpad_write_bytes : out_.dram_write_bytes) += cost.write_bytes;
    }
    const std::vector<bool> load = loaded_at_start(graph_, s_.program->tensors.size());
    for (size_t t = 0; t < load.size(); ++t) {
      if (!load[t]) continue;
      const double bytes = arrays_[t].total();
      loaded_ += bytes;
      out_.dram_read_bytes += bytes;
      out_.scratchpad_write_bytes += bytes;
    }
  }

  void add_time() {
    const std::vector<MemoryUse> memory = memory_use(s_, counts_, memory_, out_.nodes, arrays_);
    out_.loaded_bytes = loaded_;
    if (memory_.timed) out_.dram_bursts = memory_.bursts(loaded_, 1);
    for (size_t n = 0; n < memory.size(); ++n) {
      out_.dram_bursts += memory[n].asked.bursts;
      if (memory_.batched && memory[n].asks) out_.nodes[n].least = 0;  // a batch comes all at once
    }
    const RegionCycles time = region_time(s_, counts_, machine_, timings_, out_.nodes, memory);
    out_.cycles = time.cycles;
    out_.bound = time.bound;
    if (memory_.timed && loaded_ > 0) {  // inputs of the scratchpad come before the first phase
      out_.loading_cycles =
          memory_.of_port({memory_.bursts(loaded_, 1), loaded_, {1, loaded_}}) + memory_.latency;
      out_.cycles += out_.loading_cycles;
    }
    double longest = -1;
    for (size_t n = 0; n < out_.nodes.size(); ++n) {
      if (out_.nodes[n].busy <= longest) continue;
      longest = out_.nodes[n].busy;
      out_.limit = static_cast<NodeId>(n);
    }
  }

  const Structure& s_;
  const Graph& graph_;
  const Counts& counts_;
  const Machine& machine_;
  const std::vector<UnitTiming> timings_;  ///< by NodeId
  const MemoryTime memory_;
  const std::vector<StoredArrays>& arrays_;  ///< by TensorId
  double loaded_ = 0;                        ///< bytes of the scratchpad's inputs
  RegionCost out_;
};

}  // namespace

NodeNumbers node_numbers(const Structure& structure, const Counts& counts, size_t n) {
  const Node& node = structure.graph->nodes[n];
  NodeNumbers numbers{*structure.graph, structure.spaces, counts.space, node, counts.node[n]};
  if (node.tensor < 0) return numbers;
  const Tensor& tensor = structure.program->tensors[static_cast<size_t>(node.tensor)];
  if (node.level >= 0) numbers.level = tensor.format.levels[static_cast<size_t>(node.level)];
  numbers.value_bytes =
      static_cast<double>(element_bytes(tensor.type) * tensor.format.block_volume());
  return numbers;
}

RegionCost region_cost(const Structure& structure, const Counts& counts, const Machine& machine,
                       const std::vector<StoredArrays>& arrays) {
  return CostCalculator(structure, counts, machine, arrays).run();
}

}  // namespace fuseflow::estimate
