#include "estimate/costs.h"

#include <algorithm>
#include <map>

#include "estimate/first_output.h"
#include "estimate/memory_time.h"
#include "estimate/rows_written.h"
#include "nodes/rule.h"
#include "sim/run.h"
#include "tensor/format.h"

namespace fuseflow::estimate {

namespace {

class Costing {
 public:
  Costing(const Structure& s, const Counts& counts, const Machine& machine)
      : s_(s), graph_(*s.graph), counts_(counts), machine_(machine), memory_(machine) {}

  RegionCost run(const std::vector<double>& stored_bytes) {
    out_.nodes.resize(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      NodeCost& cost = out_.nodes[n];
      const Node& node = graph_.nodes[n];
      const NodeRule& rule = node_rule(node.kind);
      const NodeNumbers numbers = numbers_of(n);
      time(node, rule.steps(numbers), cost);
      cost.flops = flops(node, rule);
      if (node.tensor < 0) continue;
      const ByteCounts bytes = rule.bytes(numbers);
      cost.read_bytes = bytes.read;
      cost.write_bytes = bytes.write;
      if (cost.certain) cost.least_bytes = least_bytes(n, rule);
      if (memory_.batched && in_memory(node)) cost.least = 0;  // a batch is given all at once
    }
    add_bytes(stored_bytes);
    for (size_t i = 0; i < graph_.streams.size(); ++i) {
      if (s_.consumers[i] > 0) out_.tokens += in_space(static_cast<StreamId>(i)).tokens();
    }
    count_bursts();
    cycles();
    return std::move(out_);
  }

 private:
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }
  const Tensor& tensor(const Node& node) const {
    return s_.program->tensors[static_cast<size_t>(node.tensor)];
  }

  NodeNumbers numbers_of(size_t n) const {
    const Node& node = graph_.nodes[n];
    NodeNumbers numbers{graph_, s_.spaces, counts_.space, node, counts_.node[n]};
    if (node.tensor < 0) return numbers;
    const Format& format = tensor(node).format;
    if (node.level >= 0) numbers.level = format.levels[static_cast<size_t>(node.level)];
    numbers.value_bytes =
        static_cast<double>(element_bytes(tensor(node).type) * format.block_volume());
    return numbers;
  }

  /// How many references follow the one before is known of most, not of all; which coordinates of
  /// a look-up with an offset are out of range (and read nothing) is not counted.
  double least_bytes(size_t n, const NodeRule& rule) const {
    const Node& node = graph_.nodes[n];
    const bool shifted = node.offset != 0 || node.stride != 1 || !node.strides.empty();
    if (node.kind == NodeKind::locate && shifted) return 0;
    NodeCount own = counts_.node[n];
    own.successors = own.present;
    const NodeNumbers known = numbers_of(n);
    const ByteCounts bytes =
        rule.bytes({graph_, s_.spaces, counts_.space, node, own, known.level, known.value_bytes});
    return bytes.read + bytes.write;
  }

  void time(const Node& node, const StepCounts& steps, NodeCost& cost) const {
    const auto interval = static_cast<double>(node_timing(machine_, graph_, node).interval_cycles);
    const auto drain = static_cast<double>(machine_.accumulate_drain_interval_cycles);
    const bool stops_cost = machine_.write_stops_take_steps;
    const double outer = machine_.accumulate_outer_stops_take_steps ? steps.outer_stops : 0;
    const double paid_steps = steps.steps + outer + (stops_cost ? steps.stops : 0);
    const double paid = paid_steps * interval;
    const bool last_is_free = steps.stops > 0 && !stops_cost;
    const double least = last_is_free ? paid : paid - interval;
    const double flush = steps.flushed * drain;
    cost.steps = steps.steps + steps.free + steps.stops + outer;
    if (node.kind == NodeKind::accumulate && machine_.accumulate_double_buffered) {
      // One store is filled while the other is drained; the last one is drained behind all.
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
    if (cost.certain) cost.least_steps = last_is_free ? paid_steps : paid_steps - 1;
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
      if (writes_tensor(node.kind)) load[t] = false;
    }
    for (size_t t = 0; t < load.size(); ++t) {
      if (!load[t]) continue;
      loaded_ += stored_bytes[t];
      out_.dram_read_bytes += stored_bytes[t];
      out_.scratchpad_write_bytes += stored_bytes[t];
    }
  }

  void count_bursts() {
    out_.loaded_bytes = loaded_;
    if (!memory_.timed) return;
    out_.bursts = memory_.bursts(loaded_, 1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (in_memory(graph_.nodes[n])) out_.bursts += bursts(n);
    }
  }

  // --- cycles

  double latency(const Node& node) const {
    return static_cast<double>(node_timing(machine_, graph_, node).latency_cycles);
  }

  /// Cycles from the first to the last step of a node that asks memory.
  double memory_span(size_t n) const {
    const double busy = out_.nodes[n].busy;
    if (memory_.batched) return memory_.of_batches(numbers_of(n), busy);
    return std::max(busy, memory_.of_port(bursts(n)) + memory_.latency);
  }

  /// Cycles that a node's first result waits for memory.
  double first_wait(size_t n) const {
    const bool waits = in_memory(graph_.nodes[n]) && out_.nodes[n].read_bytes > 0;
    return waits ? memory_.latency : 0;
  }

  void cycles() {
    first_ = first_outputs(s_, counts_, out_.nodes);
    tail_ = tails();
    head_.assign(graph_.nodes.size(), 0);
    finish_.assign(graph_.nodes.size(), 0);
    rows_.resize(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      by_phase_.resize(std::max(by_phase_.size(), static_cast<size_t>(graph_.nodes[i].phase) + 1));
      by_phase_[static_cast<size_t>(graph_.nodes[i].phase)].push_back(i);
      const Node& node = graph_.nodes[i];
      if (node.kind == NodeKind::write_values) writers_.try_emplace(node.tensor, i);
    }
    const std::vector<double> least = least_heads();
    for (int p = 0; p < static_cast<int>(by_phase_.size());) {
      const int end = graph_.last_started_with(p) + 1;
      out_.cycles += together(p, end);
      double bound = 0;
      for (int q = p; q < end; ++q) {
        for (const size_t i : by_phase_[static_cast<size_t>(q)]) {
          bound = std::max(bound, least[i] + out_.nodes[i].least + tail_[i] + 1);
        }
      }
      out_.bound += bound;
      p = end;
    }
    if (memory_.timed && loaded_ > 0) {  // inputs of the scratchpad come before the first phase
      out_.cycles += memory_.of_port(memory_.bursts(loaded_, 1)) + memory_.latency;
    }
    double longest = -1;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (out_.nodes[i].busy <= longest) continue;
      longest = out_.nodes[i].busy;
      out_.limit = static_cast<NodeId>(i);
    }
  }

  /// Cycles of the phases [first, end), which start together: loads wait for rows of the earlier
  /// ones.
  double together(int first, int end) {
    double cycles = 0;
    double asked = 0;  // bursts: channels serve all ports of phases that run together
    for (int p = first; p < end; ++p) {
      const std::vector<size_t>& nodes = by_phase_[static_cast<size_t>(p)];
      double last = 0;
      for (const size_t i : nodes) {
        if (in_memory(graph_.nodes[i])) asked += bursts(i);
        time_node(i, first);
        last = std::max(last, finish_[i] + tail_[i]);
      }
      double slowed = last;
      for (const size_t i : nodes) {
        slowed = std::max(slowed, throttled(static_cast<NodeId>(i)));
      }
      if (memory_.timed) slowed = std::max(slowed, memory_.of_channels(asked) + memory_.latency);
      for (const size_t i : nodes) finish_[i] += slowed - last;
      cycles = std::max(cycles, slowed);
    }
    return cycles;
  }

  /// First and last step of a node, those of its inputs being known: its steps in a row behind its
  /// first input, what is left behind the last rows that it waits for, and not before its inputs
  /// end.
  void time_node(size_t i, int first_phase) {
    const Node& node = graph_.nodes[i];
    head_[i] = head_of(i);
    double before = 0;
    for (const Input& in : node.inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      if (graph_.nodes[p].phase != node.phase) continue;
      before = std::max(before, finish_[p] + latency(graph_.nodes[p]));
      for (const Rows& rows : rows_[p]) {
        add_rows(rows_[i], {0, rows.last + latency(graph_.nodes[p]), rows.number});
      }
    }
    if (const Rows rows = rows_awaited(i, first_phase); rows.last > 0) {
      head_[i] = std::max(head_[i], rows.first);
      add_rows(rows_[i], rows);
    }
    double span = out_.nodes[i].busy;
    if (in_memory(node)) span = memory_span(i);
    finish_[i] = std::max(before, head_[i] + span) + out_.nodes[i].drained;
    for (const Rows& rows : rows_[i]) {
      finish_[i] = std::max(finish_[i], rows.last + span / rows.number);
    }
  }

  /// What a phase by rows waits for: a tensor that becomes complete row by row.
  struct Rows {
    double first = 0;   ///< when the first row is there
    double last = 0;    ///< when all are
    double number = 1;  ///< of rows
  };

  /// Of several with as many rows the last counts.
  static void add_rows(std::vector<Rows>& all, const Rows& more) {
    for (Rows& old : all) {
      if (old.number != more.number) continue;
      old.last = std::max(old.last, more.last);
      return;
    }
    all.push_back(more);
  }

  /// The rows that a load waits for, of a tensor that a phase from `first` on writes. A load that
  /// does not read them in their order waits for all of them.
  Rows rows_awaited(size_t i, int first) const {
    const Node& node = graph_.nodes[i];
    if (node.tensor < 0 || node.level != 0 || writes_tensor(node.kind)) return {};
    const auto found = writers_.find(node.tensor);
    if (found == writers_.end()) return {};
    const size_t writer = found->second;
    const int before = graph_.nodes[writer].phase;
    if (before < first || before >= node.phase) return {};
    const double number = by_rows(node) ? rows_written(s_, counts_, graph_.nodes[writer]) : 1;
    const double given = latency(graph_.nodes[writer]);
    const double each = (finish_[writer] - head_[writer]) / number;
    return {head_[writer] + each + given, finish_[writer] + given, number};
  }

  /// Whether a node reads the rows of its tensor in their order, one for each element of an
  /// outermost loop. Otherwise its first elements may need any row: as if they needed all.
  bool by_rows(const Node& node) const {
    const auto at_top = [&](int space) { return s_.info(space).opening == Opening::root; };
    if (node.kind == NodeKind::scan) return at_top(s_.space_of(node.inputs[0].stream));
    return s_.sequential(node.outputs[0]);
  }

  /// Whether a node's accesses go to a memory that takes time.
  bool in_memory(const Node& node) const {
    if (!memory_.timed || node.tensor < 0) return false;
    const std::vector<TensorId>& chip = graph_.scratchpad;
    return std::find(chip.begin(), chip.end(), node.tensor) == chip.end();
  }

  /// Whether references follow each other within each fiber: scanned there, or looked up in a dense
  /// level by coordinates that are counted there.
  bool in_a_row(StreamId ref, Column column) const {
    const int space = s_.space_of(ref);
    const bool stream = s_.column(column).kind == ColumnInfo::Kind::stream;
    if (!stream || s_.home(column) != space) return false;
    const Node& made = s_.node(graph_.streams[static_cast<size_t>(column)].producer);
    if (made.kind == NodeKind::scan) return true;
    // A constant subscript has no coordinate input.
    if (made.kind != NodeKind::locate || made.inputs.size() != 2 || made.stride > 1) return false;
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
    const bool dense = tensor.format.levels[static_cast<size_t>(made.level)] == LevelKind::dense;
    const Column crd = s_.canonical[static_cast<size_t>(made.inputs[1].stream)];
    return dense && s_.info(space).opening == Opening::counted && s_.home(crd) == space;
  }

  /// Bursts that a node asks for: its bytes in a row, but a new one where it jumps.
  double bursts(size_t n) const {
    const Node& node = graph_.nodes[n];
    const NodeCost& cost = out_.nodes[n];
    const NodeCount& count = counts_.node[n];
    if (writes_tensor(node.kind)) return memory_.bursts(cost.write_bytes, written_runs(node));
    if (node.kind == NodeKind::locate) return memory_.bursts(cost.read_bytes, count.present);
    if (node.kind != NodeKind::array) {
      return memory_.bursts(cost.read_bytes, count.present - count.successors);
    }
    const StreamId ref = node.inputs[0].stream;
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    const double runs = s_.sequential(column)   ? 1
                        : in_a_row(ref, column) ? in_space(ref).nonempty
                                                : count.present;
    return memory_.bursts(cost.read_bytes, runs);
  }

  /// Places where a writer goes on elsewhere than behind what it wrote last: a copy's elements are
  /// far apart if they are of the split loop, else its fibers are.
  double written_runs(const Node& node) const {
    const StreamId values = node.inputs.back().stream;
    int space = s_.space_of(values);
    const auto& splits = s_.spaces.split_of;
    const auto dealt = [&](int s) {
      const auto split = splits.find(s);
      return split != splits.end() && !split->second.contiguous;
    };
    if (dealt(space)) return in_space(values).elements;
    while (space >= 0 && !dealt(space)) space = s_.info(space).parent;
    return space >= 0 ? in_space(values).nonempty : 1;
  }

  /// A stream of bounded depth lets its depth of tokens pass in the time from giving one to its
  /// being taken: the longest way from the producer to the consumer. Cycles that follow for the
  /// outputs of node `id`.
  double throttled(NodeId id) const {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const bool sized = node.kind == NodeKind::buffer && node.capacity > 0;
    const auto depth = static_cast<double>(sized ? node.capacity : machine_.fifo_depth);
    if (depth <= 0 || node.outputs.empty()) return 0;
    std::vector<double> way(graph_.nodes.size(), -1);
    way[static_cast<size_t>(id)] = 0;
    double most = 0;
    for (auto c = static_cast<size_t>(id) + 1; c < graph_.nodes.size(); ++c) {
      const Node& consumer = graph_.nodes[c];
      if (consumer.phase != node.phase) continue;
      StreamId taken = -1;
      for (const Input& in : consumer.inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (way[p] < 0) continue;
        const bool given = static_cast<NodeId>(p) == id;
        const double filled = given ? 0 : first_[p];
        way[c] = std::max(way[c], way[p] + latency(graph_.nodes[p]) + filled);
        if (given) taken = in.stream;
      }
      if (taken < 0 || way[c] + 1 <= depth) continue;
      // Rows of other phases, for which all wait once, only delay it.
      const double start = std::max(head_[static_cast<size_t>(id)], head_[c] - way[c]);
      most = std::max(most, start + in_space(taken).tokens() * (way[c] + 1) / depth);
    }
    return most;
  }

  /// Time before the first step of a node, by what its phase gives it.
  double head_of(size_t i) const {
    double head = 0;
    for (const Input& in : graph_.nodes[i].inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      if (graph_.nodes[p].phase != graph_.nodes[i].phase) continue;
      head = std::max(head, head_[p] + latency(graph_.nodes[p]) + first_[p] + first_wait(p));
    }
    return head;
  }

  /// For the bound only what must be: latencies, of the least path in.
  std::vector<double> least_heads() const {
    std::vector<double> head(graph_.nodes.size(), 0);
    for (size_t i = 0; i < head.size(); ++i) {
      bool first = true;
      for (const Input& in : graph_.nodes[i].inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (graph_.nodes[p].phase != graph_.nodes[i].phase) continue;
        const double at = head[p] + latency(graph_.nodes[p]);
        head[i] = first ? at : std::min(head[i], at);
        first = false;
      }
    }
    return head;
  }

  /// Time after the last step of each node: the longest path of `done` out.
  std::vector<double> tails() const {
    std::vector<double> tail(graph_.nodes.size(), 0);
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      for (const Input& in : graph_.nodes[i].inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        if (graph_.nodes[p].phase != graph_.nodes[i].phase) continue;
        tail[p] = std::max(tail[p], tail[i] + latency(graph_.nodes[p]));
      }
    }
    return tail;
  }

  const Structure& s_;
  const Graph& graph_;
  const Counts& counts_;
  const Machine& machine_;
  const MemoryTime memory_;
  double loaded_ = 0;  ///< bytes of the scratchpad's inputs
  RegionCost out_;
  std::vector<double> first_;   ///< first_outputs()
  std::vector<double> head_;    ///< time before each node's first step, from when its phase starts
  std::vector<double> tail_;    ///< and after its last
  std::vector<double> finish_;  ///< time of its last step
  std::vector<std::vector<Rows>> rows_;  ///< of earlier phases, that it waits for
  std::vector<std::vector<size_t>> by_phase_;
  std::map<TensorId, size_t> writers_;  ///< of values, by tensor
};

}  // namespace

RegionCost region_cost(const Structure& structure, const Counts& counts, const Machine& machine,
                       const std::vector<double>& stored_bytes) {
  return Costing(structure, counts, machine).run(stored_bytes);
}

}  // namespace fuseflow::estimate
