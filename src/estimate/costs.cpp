#include "estimate/costs.h"

#include <algorithm>

#include "estimate/memory_time.h"
#include "graph/blocks.h"
#include "sim/run.h"
#include "tensor/format.h"

namespace fuseflow::estimate {

namespace {

bool is_writer(NodeKind kind) {
  return kind == NodeKind::write_level || kind == NodeKind::write_values;
}

class Costing {
 public:
  Costing(const Structure& s, const Counts& counts, const Machine& machine)
      : s_(s), graph_(*s.graph), counts_(counts), machine_(machine), memory_(machine) {}

  RegionCost run(const std::vector<double>& stored_bytes) {
    out_.nodes.resize(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      NodeCost& cost = out_.nodes[n];
      time(graph_.nodes[n], static_cast<NodeId>(n), cost);
      cost.flops = flops(graph_.nodes[n]);
      bytes(graph_.nodes[n], counts_.node[n], cost);
    }
    add_bytes(stored_bytes);
    for (size_t i = 0; i < graph_.streams.size(); ++i) {
      if (s_.consumers[i] > 0) out_.tokens += in_space(static_cast<StreamId>(i)).tokens();
    }
    cycles();
    return std::move(out_);
  }

 private:
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }
  const SpaceCount& input(const Node& node, size_t i) const {
    return in_space(node.inputs[i].stream);
  }
  const SpaceCount& parent_of(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.info(s_.space_of(stream)).parent)];
  }

  /// The first input that is a stream.
  const SpaceCount& operands(const Node& node) const {
    for (const Input& in : node.inputs) {
      if (!in.is_immediate()) return in_space(in.stream);
    }
    return counts_.space[0];
  }

  // --- steps

  void time(const Node& node, NodeId id, NodeCost& cost) const {
    const auto interval = static_cast<double>(node_timing(machine_, graph_, node).interval_cycles);
    double extra = 0;  // steps at another cost: cycles, uncertain in a lower bound if they vary
    cost.steps = steps(node, id);
    cost.busy = cost.steps * interval;
    cost.least = cost.busy - interval;
    if (node.kind == NodeKind::accumulate) {
      const double drained = flushed(node);
      extra = drained * static_cast<double>(machine_.accumulate_drain_interval_cycles);
      cost.steps += drained;
      cost.busy += extra;
      cost.least += in_space(node.outputs.back()).elements *
                    static_cast<double>(machine_.accumulate_drain_interval_cycles);
    } else if (is_writer(node.kind)) {
      cost.least = cost.busy;
      cost.steps = node.inputs.empty() ? 0 : input(node, node.inputs.size() - 1).tokens();
    }
    if (!certain(node)) cost.least = 0;
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

  double steps(const Node& node, NodeId id) const {
    switch (node.kind) {
      case NodeKind::root:
        return 2;
      case NodeKind::scan:
        return in_space(node.outputs[0]).tokens();
      case NodeKind::repeat:
        return input(node, 1).tokens();
      case NodeKind::intersect:
      case NodeKind::unite:
      case NodeKind::leftjoin: {
        const SpaceCount& out = in_space(node.outputs[0]);
        return counts_.node[static_cast<size_t>(id)].met + out.stops + 1;
      }
      case NodeKind::reduce:
        return input(node, node.inputs.size() - 1).tokens();
      case NodeKind::accumulate:
        // The stop that flushes is counted with the closing stop; its first entry comes in its
        // step.
        return input(node, node.inputs.size() - 1).tokens();
      case NodeKind::drop:
        return input(node, static_cast<size_t>(node.groups[0])).tokens();
      case NodeKind::align:
        return input(node, 2).tokens() +
               std::max(0.0, input(node, 0).elements - input(node, 1).elements);
      case NodeKind::write_level:
      case NodeKind::write_values:
        return input(node, node.inputs.size() - 1).elements;
      case NodeKind::serialize:
        return in_space(node.outputs[0]).tokens();
      default:
        return operands(node).tokens();
    }
  }

  /// Steps of the flushes: the entries, and with several loops the ends of inner fibers.
  double flushed(const Node& node) const {
    double sum = in_space(node.outputs.back()).elements;
    for (int i = 1; i < node.order; ++i) {
      const SpaceCount& loop = in_space(node.outputs[static_cast<size_t>(i)]);
      sum += std::max(0.0, loop.nonempty - in_space(node.outputs[0]).nonempty);
    }
    return sum;
  }

  // --- arithmetic and bytes

  double flops(const Node& node) const {
    switch (node.kind) {
      case NodeKind::map:
        return operands(node).elements * map_flops(node);
      case NodeKind::reduce:
      case NodeKind::accumulate: {
        const Stream& taken = graph_.streams[static_cast<size_t>(node.inputs.back().stream)];
        const double values = input(node, node.inputs.size() - 1).elements *
                              static_cast<double>(block_volume(graph_, taken.block));
        if (node.reduction != Reduction::mean) return values;
        const StreamId value = node.inputs[node.inputs.size() - 1].stream;
        return values + (node.kind == NodeKind::accumulate ? in_space(node.outputs.back()).elements
                                                           : parent_of(value).elements);
      }
      default:
        return 0;
    }
  }

  /// Of one payload: a block counts all of its elements (ir-spec/blocks.md).
  double map_flops(const Node& node) const {
    const std::vector<int>& block = graph_.streams[static_cast<size_t>(node.outputs[0])].block;
    const auto volume = static_cast<double>(block_volume(graph_, block));
    const auto summed = static_cast<double>(block_volume(graph_, node.contract));
    return volume * (op_info(node.op).flops * summed + summed - 1);
  }

  const Tensor& tensor(const Node& node) const {
    return s_.program->tensors[static_cast<size_t>(node.tensor)];
  }

  void bytes(const Node& node, const NodeCount& count, NodeCost& cost) const {
    if (node.tensor < 0) return;
    const auto value_bytes =
        static_cast<double>(element_bytes(tensor(node).type) * tensor(node).format.block_volume());
    const double positions = 8 * count.present - 4 * count.successors;
    switch (node.kind) {
      case NodeKind::array:
        cost.read_bytes = count.present * value_bytes;
        return;
      case NodeKind::scan:
      case NodeKind::locate: {
        const LevelKind kind = tensor(node).format.levels[static_cast<size_t>(node.level)];
        const bool scan = node.kind == NodeKind::scan;
        const double elements = scan ? in_space(node.outputs[0]).elements : count.present;
        if (kind == LevelKind::compressed) {
          cost.read_bytes = positions + 4 * (scan ? elements : count.probes);
        } else if (kind == LevelKind::bitvector) {
          cost.read_bytes = scan ? 8 * count.words + 4 * count.present : 12 * count.present;
        } else if (kind == LevelKind::singleton) {
          cost.read_bytes = 4 * (scan ? elements : count.present);
        }
        return;
      }
      case NodeKind::write_level:
        cost.write_bytes = 4 * (count.stored + count.fibers);
        return;
      case NodeKind::write_values:
        cost.write_bytes = count.stored * value_bytes;
        return;
      default:
        return;
    }
  }

  void add_bytes(const std::vector<double>& stored_bytes) {
    std::vector<bool> chip(s_.program->tensors.size(), false);
    std::vector<bool> load(s_.program->tensors.size(), false);
    for (const TensorId t : graph_.scratchpad) {
      chip[static_cast<size_t>(t)] = load[static_cast<size_t>(t)] = true;
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const NodeCost& cost = out_.nodes[n];
      out_.flops += cost.flops;
      if (node.tensor < 0) continue;
      const auto t = static_cast<size_t>(node.tensor);
      (chip[t] ? out_.scratchpad_read_bytes : out_.dram_read_bytes) += cost.read_bytes;
      (chip[t] ? out_.scratchpad_write_bytes : out_.dram_write_bytes) += cost.write_bytes;
      if (is_writer(node.kind)) load[t] = false;
    }
    for (size_t t = 0; t < load.size(); ++t) {
      if (!load[t]) continue;
      loaded_ += stored_bytes[t];
      out_.dram_read_bytes += stored_bytes[t];
      out_.scratchpad_write_bytes += stored_bytes[t];
    }
  }

  // --- cycles

  double latency(const Node& node) const {
    return static_cast<double>(node_timing(machine_, graph_, node).latency_cycles);
  }

  /// Steps until the first output, beyond the latency: a reduction's first fiber, a flush.
  double fill(const Node& node, const NodeCost& cost) const {
    if (node.kind != NodeKind::reduce && node.kind != NodeKind::accumulate) return 0;
    const StreamId last = node.inputs[node.inputs.size() - 1].stream;
    const StreamId ending = node.kind == NodeKind::reduce ? last : node.inputs[1].stream;
    const double fibers = std::max(1.0, in_space(ending).nonempty);
    return std::max(0.0, cost.busy / fibers - 1);
  }

  /// Cycles that a node's first result waits for memory.
  double first_wait(size_t n) const {
    const bool waits = in_memory(graph_.nodes[n]) && out_.nodes[n].read_bytes > 0;
    return waits ? memory_.latency : 0;
  }

  void cycles() {
    const size_t n = graph_.nodes.size();
    int phases = 0;
    for (const Node& node : graph_.nodes) phases = std::max(phases, node.phase + 1);
    std::vector<double> estimate(static_cast<size_t>(phases), 0);
    std::vector<double> bound(static_cast<size_t>(phases), 0);
    for (const bool least : {false, true}) {
      std::vector<double> head(n, 0);
      std::vector<double> tail(n, 0);
      paths(least, head, tail);
      if (!least) head_ = head;
      for (size_t i = 0; i < n; ++i) {
        const auto p = static_cast<size_t>(graph_.nodes[i].phase);
        const NodeCost& cost = out_.nodes[i];
        const double ends = head[i] + (least ? cost.least : cost.busy) + tail[i] + (least ? 1 : 0);
        (least ? bound : estimate)[p] = std::max((least ? bound : estimate)[p], ends);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const auto p = static_cast<size_t>(graph_.nodes[i].phase);
      estimate[p] = std::max(estimate[p], throttled(static_cast<NodeId>(i), head_));
    }
    if (memory_.timed) wait_for_memory(estimate);
    double longest = -1;
    for (size_t i = 0; i < n; ++i) {
      if (out_.nodes[i].busy > longest) {
        longest = out_.nodes[i].busy;
        out_.limit = static_cast<NodeId>(i);
      }
    }
    for (int p = 0; p < phases; ++p) {
      const int end = graph_.last_started_with(p) + 1;
      out_.cycles += together(p, end, estimate);
      out_.bound += *std::max_element(bound.begin() + p, bound.begin() + end);
      p = end - 1;
    }
  }

  /// Cycles of the phases [first, end), which start together: each waits for the rows of the
  /// earlier ones.
  double together(int first, int end, const std::vector<double>& alone) const {
    std::vector<double> from(static_cast<size_t>(end - first), 0);
    double last = 0;
    for (int p = first; p < end; ++p) {
      double& start = from[static_cast<size_t>(p - first)];
      for (const Node& node : graph_.nodes) {
        if (node.phase != p || node.tensor < 0 || node.level != 0 || is_writer(node.kind)) continue;
        const NodeId writer = writer_of(node.tensor);
        if (writer < 0) continue;
        const int before = graph_.nodes[static_cast<size_t>(writer)].phase;
        if (before < first || before >= p) continue;
        const double ready =
            by_rows(node) ? head_[static_cast<size_t>(writer)] : alone[static_cast<size_t>(before)];
        start = std::max(start, from[static_cast<size_t>(before - first)] + ready);
      }
      last = std::max(last, start + alone[static_cast<size_t>(p)]);
    }
    return last;
  }

  NodeId writer_of(TensorId tensor) const {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.kind == NodeKind::write_values && node.tensor == tensor) {
        return static_cast<NodeId>(n);
      }
    }
    return -1;
  }

  /// Whether a node reads the rows of its tensor in their order, one for each element of an
  /// outermost loop. Otherwise its first elements may need any row: as if they needed all.
  bool by_rows(const Node& node) const {
    const bool outermost = s_.info(s_.space_of(node.inputs[0].stream)).opening == Opening::root;
    if (node.kind == NodeKind::scan) return outermost;
    return s_.sequential(node.outputs[0]);
  }

  /// Whether a node's accesses go to a memory that takes time.
  bool in_memory(const Node& node) const {
    if (!memory_.timed || node.tensor < 0) return false;
    const std::vector<TensorId>& chip = graph_.scratchpad;
    return std::find(chip.begin(), chip.end(), node.tensor) == chip.end();
  }

  /// Bursts that a node asks for: its bytes in a row, but a new one where it jumps.
  double bursts(size_t n) const {
    const Node& node = graph_.nodes[n];
    const NodeCost& cost = out_.nodes[n];
    const NodeCount& count = counts_.node[n];
    if (is_writer(node.kind)) return memory_.bursts(cost.write_bytes, 1);
    if (node.kind == NodeKind::locate) return memory_.bursts(cost.read_bytes, count.present);
    if (node.kind != NodeKind::array) {
      return memory_.bursts(cost.read_bytes, count.present - count.successors);
    }
    const StreamId ref = node.inputs[0].stream;
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    const bool made_here =
        s_.column(column).kind == ColumnInfo::Kind::stream && s_.home(column) == s_.space_of(ref) &&
        s_.node(graph_.streams[static_cast<size_t>(column)].producer).kind == NodeKind::scan;
    const double runs = s_.sequential(column) ? 1
                        : made_here           ? in_space(ref).nonempty
                                              : count.present;
    return memory_.bursts(cost.read_bytes, runs);
  }

  /// Channels serve all ports of a phase; a port waits for its own bursts; inputs of the scratchpad
  /// are streamed in before the first phase.
  void wait_for_memory(std::vector<double>& estimate) const {
    std::vector<double> all(estimate.size(), 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!in_memory(graph_.nodes[i])) continue;
      const auto p = static_cast<size_t>(graph_.nodes[i].phase);
      const double asked = bursts(i);
      all[p] += asked;
      estimate[p] = std::max(estimate[p], head_[i] + memory_.of_port(asked) + memory_.latency);
    }
    for (size_t p = 0; p < estimate.size(); ++p) {
      estimate[p] = std::max(estimate[p], memory_.of_channels(all[p]) + memory_.latency);
    }
    if (loaded_ > 0 && !estimate.empty()) {
      estimate[0] += memory_.of_port(memory_.bursts(loaded_, 1)) + memory_.latency;
    }
  }

  /// A stream of bounded depth lets its depth of tokens pass in the time from giving one to its
  /// being taken: the longest way from the producer to the consumer. Cycles that follow for the
  /// outputs of node `id`.
  double throttled(NodeId id, const std::vector<double>& head) const {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const bool sized = node.kind == NodeKind::buffer && node.capacity > 0;
    const auto depth = static_cast<double>(sized ? node.capacity : machine_.fifo_depth);
    if (depth <= 0 || node.outputs.empty()) return 0;
    std::vector<double> way(graph_.nodes.size(), -1);
    way[static_cast<size_t>(id)] = 0;
    double most = 0;
    for (auto c = static_cast<size_t>(id) + 1; c < graph_.nodes.size(); ++c) {
      const Node& consumer = graph_.nodes[c];
      StreamId taken = -1;
      for (const Input& in : consumer.inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (way[p] < 0 || graph_.nodes[p].phase != consumer.phase) continue;
        const bool given = static_cast<NodeId>(p) == id;
        const double filled = given ? 0 : fill(graph_.nodes[p], out_.nodes[p]);
        way[c] = std::max(way[c], way[p] + latency(graph_.nodes[p]) + filled);
        if (given) taken = in.stream;
      }
      if (taken < 0 || way[c] + 1 <= depth) continue;
      most = std::max(
          most, head[static_cast<size_t>(id)] + in_space(taken).tokens() * (way[c] + 1) / depth);
    }
    return most;
  }

  /// Time before the first step of each node, and after the last one. For the bound only what must
  /// be: latencies, of the least path in and of the longest path of `done` out.
  void paths(bool least, std::vector<double>& head, std::vector<double>& tail) const {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      bool first = true;
      for (const Input& in : node.inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (graph_.nodes[p].phase != node.phase) continue;
        double at = head[p] + latency(graph_.nodes[p]);
        if (!least) at += fill(graph_.nodes[p], out_.nodes[p]) + first_wait(p);
        head[i] = first ? at : least ? std::min(head[i], at) : std::max(head[i], at);
        first = false;
      }
    }
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      for (const Input& in : node.inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (graph_.nodes[p].phase != node.phase) continue;
        tail[p] = std::max(tail[p], tail[i] + latency(graph_.nodes[p]));
      }
    }
  }

  const Structure& s_;
  const Graph& graph_;
  const Counts& counts_;
  const Machine& machine_;
  const MemoryTime memory_;
  double loaded_ = 0;  ///< bytes of the scratchpad's inputs
  RegionCost out_;
  std::vector<double> head_;  ///< estimated time before each node's first step
};

}  // namespace

RegionCost region_cost(const Structure& structure, const Counts& counts, const Machine& machine,
                       const std::vector<double>& stored_bytes) {
  return Costing(structure, counts, machine).run(stored_bytes);
}

}  // namespace fuseflow::estimate
