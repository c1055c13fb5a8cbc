#include "estimate/region_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "estimate/first_output.h"
#include "estimate/row_waits.h"
#include "estimate/rows_written.h"
#include "nodes/rule.h"
#include "sim/run.h"

namespace fuseflow::estimate {

namespace {

class RegionTime {
 public:
  RegionTime(const Structure& structure, const Counts& counts, const Machine& machine,
             const std::vector<UnitTiming>& timings, const std::vector<NodeCost>& nodes,
             const std::vector<MemoryUse>& memory)
      : s_(structure),
        graph_(*structure.graph),
        counts_(counts),
        machine_(machine),
        timings_(timings),
        model_(machine),
        nodes_(nodes),
        memory_(memory),
        outputs_(structure, counts) {}

  RegionCycles run() {
    RegionCycles out;
    first_.assign(graph_.nodes.size(), 0);
    tail_ = tails();
    head_.assign(graph_.nodes.size(), 0);
    pace_.assign(graph_.nodes.size(), 0);
    finish_.assign(graph_.nodes.size(), 0);
    rows_.resize(graph_.nodes.size());
    last_reader_.resize(graph_.nodes.size());
    first_reader_.assign(graph_.nodes.size(), graph_.nodes.size());
    dividing_.resize(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      last_reader_[i] = i;
      for (const Input& in : graph_.nodes[i].inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        last_reader_[p] = i;
        first_reader_[p] = std::min(first_reader_[p], i);
        if (graph_.nodes[i].kind == NodeKind::parallelize) dividing_[p].push_back(i);
      }
      by_phase_.resize(std::max(by_phase_.size(), static_cast<size_t>(graph_.nodes[i].phase) + 1));
      by_phase_[static_cast<size_t>(graph_.nodes[i].phase)].push_back(i);
      const Node& node = graph_.nodes[i];
      if (node.kind == NodeKind::write_values) writers_[node.tensor].push_back(i);
      if (node.kind == NodeKind::write_level) {
        fibers_[{node.tensor, node.level}] = fibers_written(s_, counts_, node);
      }
    }
    const std::vector<double> least = least_heads();
    for (int p = 0; p < static_cast<int>(by_phase_.size());) {
      const int end = graph_.last_started_with(p) + 1;
      out.cycles += together(p, end);
      double bound = 0;
      for (int q = p; q < end; ++q) {
        for (const size_t i : by_phase_[static_cast<size_t>(q)]) {
          bound = std::max(bound, least[i] + nodes_[i].least + tail_[i] + 1);
        }
      }
      out.bound += bound;
      p = end;
    }
    return out;
  }

 private:
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }

  double latency(size_t node) const { return static_cast<double>(timings_[node].latency_cycles); }

  /// Cycles of the phases [first, end), which start together: loads wait for rows of the earlier
  /// ones.
  double together(int first, int end) {
    double cycles = 0;
    MemoryTraffic asked;  // channels serve all ports of phases that run together
    for (int p = first; p < end; ++p) {
      const std::vector<size_t>& nodes = by_phase_[static_cast<size_t>(p)];
      for (const size_t i : nodes) time_node(i, first);
      if (hold_buffers(nodes)) {
        for (const size_t i : nodes) time_node(i, first);
      }
      double last = 0;
      for (const size_t i : nodes) {
        asked += memory_[i].asked;
        last = std::max(last, finish_[i] + std::max(tail_[i], memory_[i].acknowledged));
      }
      double slowed = last;
      for (const size_t i : nodes) {
        slowed = std::max(slowed, throttled(static_cast<NodeId>(i)));
      }
      if (model_.timed) slowed = std::max(slowed, model_.of_channels(asked) + model_.latency);
      for (const size_t i : nodes) finish_[i] += slowed - last;
      cycles = std::max(cycles, slowed);
    }
    return cycles;
  }

  /// A full buffer waits with its latest reader for rows of earlier phases, and its other readers
  /// wait with it. Streams of the machine's depth are left out: several of them follow one another,
  /// so that their depths add up. False: no buffer waits longer.
  bool hold_buffers(const std::vector<size_t>& nodes) {
    bool held = false;
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      for (const Input& in : graph_.nodes[*at].inputs) {
        if (in.is_immediate()) continue;
        const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
        const Node& buffer = graph_.nodes[p];
        if (buffer.kind != NodeKind::buffer || buffer.phase != graph_.nodes[*at].phase) continue;
        if (depth_of(p) <= 0) continue;
        const double ahead = depth_of(p) / in_space(in.stream).tokens();
        held = rows_[p].add_of_reader(rows_[*at], ahead, latency(p)) || held;
      }
    }
    return held;
  }

  /// First and last step of a node, those of its inputs being known: its steps in a row after its
  /// first input, what is left after the last rows that it waits for, and not before its inputs
  /// end.
  void time_node(size_t i, int first_phase) {
    const Node& node = graph_.nodes[i];
    head_[i] = head_of(i);
    double before = 0;
    for (const Input& in : node.inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      if (graph_.nodes[p].phase != node.phase) continue;
      before = std::max(before, finish_[p] + latency(p));
      const Node& from = graph_.nodes[p];
      const double fibers = reduces(from.kind) ? reduced_fibers(s_, counts_, from) : 0;
      rows_[i].add(rows_[p], fibers, pace_[p], latency(p));
    }
    await_rows(i, first_phase);
    head_[i] = std::max(head_[i], rows_[i].head());
    // What a batch collects is given at once, `waited` later.
    first_[i] = outputs_.add(i, head_[i], model_.batched ? nodes_[i].busy : work(i));
    pace_[i] = pace_of(i);
    finish_[i] = std::max(before + memory_[i].waited, head_[i] + pace_[i]) + nodes_[i].drained;
    finish_[i] = std::max(finish_[i], rows_[i].end(pace_[i]));
  }

  /// Cycles that a node's steps take, at the rate of its ports.
  double work(size_t i) const { return memory_[i].asks ? memory_[i].span : nodes_[i].busy; }

  /// Cycles from the first step of a node to its last one if nothing but its own work and that of
  /// its suppliers holds it up: through a stream of bounded depth these are ahead of it by that
  /// depth at most, however early they begin.
  double pace_of(size_t i) const {
    double pace = work(i) + (model_.batched ? 0 : memory_[i].waited);
    for (const Input& in : graph_.nodes[i].inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      const double depth = depth_of(p);
      if (depth <= 0 || graph_.nodes[p].phase != graph_.nodes[i].phase) continue;
      const double tokens = in_space(in.stream).tokens();
      // What a reduction takes before it first gives is over when this node begins. By then the
      // stream has filled as far as the supplier's lead goes.
      const double left = pace_[p] - first_[p];
      const double lead = std::max(0.0, head_[i] - head_[p] - latency(p) - first_[p]);
      const double held = std::min(depth, left > 0 ? lead * tokens / left : depth);
      pace = std::max(pace, left * std::max(0.0, 1 - held / tokens));
    }
    return pace;
  }

  /// The depth of the streams that a node gives; 0: unbounded.
  double depth_of(size_t i) const {
    const Node& node = graph_.nodes[i];
    const bool sized = node.kind == NodeKind::buffer && node.capacity > 0;
    return static_cast<double>(sized ? node.capacity : machine_.fifo_depth);
  }

  /// In how many steps what a load reads becomes complete: the fibers of its level, or values.
  double rows_of(const Node& load, const Node& writer) const {
    const double rows = rows_written(s_, counts_, writer);
    const auto fibers = fibers_.find({load.tensor, load.level});
    return fibers == fibers_.end() ? rows : std::min(rows, fibers->second);
  }

  /// When rows up to a share of all are complete for a load: the first row when the writer has it
  /// together, the last at its end, others in equal distances; not before a stop of the writer ends
  /// and it has gone on to there from that.
  double completed(size_t writer, double rows, double share) const {
    const double given = latency(writer) + memory_[writer].acknowledged;
    const double all = finish_[writer] - head_[writer];
    if (rows <= 1 || share >= 1) return finish_[writer] + given;
    const double row = outputs_.first_row(writer, rows) - head_[writer];
    const double first = std::clamp(row, 0.0, all / rows);
    const double others = std::max(0.0, share * rows - 1) / (rows - 1);
    double complete = head_[writer] + first + others * (all - first);
    rows_[writer].for_each_stop([&](double done, const RowWait& wait) {
      if (done >= share) return;
      const double pace =
          std::min(std::max(wait.pace, pace_[writer]), (finish_[writer] - wait.there) / wait.left);
      complete = std::max(complete, wait.there + (share - done) * pace);
    });
    return complete + given;
  }

  /// The copies of the outermost loop that a writer of a part is in; null: all have its rows.
  const Spaces::Split* split_of_rows(const Node& writer) const {
    if (writer.inputs.size() < 2) return nullptr;
    const auto found = s_.spaces.split_of.find(s_.space_of(writer.inputs.front().stream));
    return found == s_.spaces.split_of.end() ? nullptr : &found->second;
  }

  /// The share of a writer's own rows that comes with a share of the tensor's.
  static double own_share(const Spaces::Split* split, double share) {
    if (split == nullptr || !split->contiguous) return share;
    const auto ranges = static_cast<double>(split->copies);
    return std::clamp(share * ranges - static_cast<double>(split->copy), 0.0, 1.0);
  }

  /// The rows that a load waits for, of a tensor that a phase from `first` on writes: what it has
  /// left then.
  void await_rows(size_t i, int first) {
    const Node& node = graph_.nodes[i];
    const RowNeeds& needs = counts_.needs[i];
    if (node.tensor < 0 || !needs.reads) return;
    const auto found = writers_.find(node.tensor);
    if (found == writers_.end()) return;
    const int before = graph_.nodes[found->second.front()].phase;
    if (before < first || before >= node.phase) return;
    const ListedNeeds& listed = needs.listed;
    for (const size_t writer : found->second) {  // each of one part, or one of all
      const double rows = rows_of(node, graph_.nodes[writer]);
      const Spaces::Split* const split = split_of_rows(graph_.nodes[writer]);
      const auto wait = [&](const RowNeed& need, RowWait::Holds holds) {
        const double own = own_share(split, need.rows);
        if (own <= 0) return;
        const double fibers = holds == RowWait::Holds::everywhere ? 0 : listed.number;
        const double there = completed(writer, rows, own);
        rows_[i].add({there, 1 - need.done, holds, fibers, i});
      };
      for (const RowNeed& need : listed.entries) wait(need, RowWait::Holds::until_reduced);
      for (const RowNeed& need : listed.fibers) wait(need, RowWait::Holds::once_reduced);
      if (!listed.entries.empty()) continue;
      const double copies = split == nullptr ? 1 : static_cast<double>(split->copies);
      const double share = std::min(1.0, 1 / (copies * rows) + needs.ahead);
      wait({0, share}, RowWait::Holds::everywhere);
      rows_[writer].for_each_stop([&](double done, const RowWait&) {  // it stops with the writer
        if (done > 0 && done + share < 1) wait({done, done + share}, RowWait::Holds::everywhere);
      });
      wait({1 - share, 1}, RowWait::Holds::everywhere);
    }
  }

  /// A stream of bounded depth lets its depth of tokens pass in the time from giving one to its
  /// being taken: the longest way from the producer to the consumer. Where it is divided for copies
  /// of a loop, those that the copies' streams hold follow. Cycles that follow for the outputs of
  /// node `id`.
  double throttled(NodeId id) {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const double depth = depth_of(static_cast<size_t>(id));
    if (depth <= 0 || node.outputs.empty()) return 0;
    const auto first = static_cast<size_t>(id);
    double most = throttled_by(first, {first}, depth);
    const std::vector<size_t>& dividing = dividing_[first];
    if (!dividing.empty()) {
      const auto copies = static_cast<double>(graph_.nodes[dividing[0]].outputs.size());
      most = std::max(most, throttled_by(first, dividing, depth / copies + depth_of(dividing[0])));
    }
    return most;
  }

  /// The same of the streams that these nodes give, of which so many tokens pass in that time.
  double throttled_by(size_t id, const std::vector<size_t>& givers, double depth) {
    size_t end = id + 1;  // ways to those after it say nothing
    for (const size_t giver : givers) end = std::max(end, last_reader_[giver] + 1);
    ways_.assign(end - id, {});
    ways_[0].cycles = 0;
    for (const size_t giver : givers) ways_[giver - id].gives = true;
    const double bunches = (in_space(any_output(graph_.nodes[givers[0]])).tokens() - 1) / depth;
    double most = 0;
    for (size_t c = first_reader_[id]; c < end; ++c) {
      const StreamId taken = extend_way(id, c, bunches);
      if (taken >= 0) most = std::max(most, held_up(id, c, taken, depth));
    }
    return most;
  }

  static StreamId any_output(const Node& node) {
    return *std::max_element(node.outputs.begin(), node.outputs.end());
  }

  /// The longest way from one node to another.
  struct LongestPath {
    double cycles = -1;  ///< from giving a token to its being taken; below 0: there is no way
    double each = 0;     ///< the same on average: answers of memory may be there already
    size_t before = 0;   ///< the last node on the former before the other
    bool gives = false;  ///< the other gives tokens that the one may be ahead by
  };

  /// The longest way from node `id` to `c`, those to the nodes before it being known, and the one
  /// that is longest for a bunch of tokens of many. Returns the stream that `c` takes from a node
  /// that gives them, or -1.
  StreamId extend_way(size_t id, size_t c, double bunches) {
    StreamId taken = -1;
    LongestPath& longest = ways_[c - id];
    for (const Input& in : graph_.nodes[c].inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      if (p < id || ways_[p - id].cycles < 0) continue;
      const bool given = p == id;
      const LongestPath& before = ways_[p - id];
      if (before.gives) taken = in.stream;
      const double step = latency(p) + (given ? 0 : first_[p]);
      const double waited = given ? 0 : memory_[p].waited;
      const double cycles = before.cycles + step + waited;
      if (cycles > longest.cycles) longest.cycles = cycles, longest.before = p;
      // A bunch that lies in a burst that is there already does not wait for it.
      const double waits = waited > 0 ? std::min(1.0, memory_[p].asked.bursts / bunches) : 0;
      longest.each = std::max(longest.each, before.each + step + waits * waited);
    }
    return taken;
  }

  /// The nodes between `id` and `c` on the longest way that wait for memory, in its order.
  std::vector<size_t> waiting_between(size_t id, size_t c) const {
    std::vector<size_t> nodes;
    for (size_t p = ways_[c - id].before; p != id; p = ways_[p - id].before) {
      if (memory_[p].waited > 0) nodes.push_back(p);
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  /// When the tokens of stream `taken`, of bounded depth, have passed from node `id` to `c`.
  double held_up(size_t id, size_t c, StreamId taken, double depth) const {
    const double tokens = in_space(taken).tokens();
    const double span = std::max(tokens, finish_[c] - head_[c]);  // if it were not bounded
    const double way = ways_[c - id].cycles;
    const std::vector<size_t> waiting = waiting_between(id, c);
    MemoryTraffic asked;
    double known = 0;  // of refreshes, what the span of one of them has already
    for (const size_t p : waiting) {
      asked += memory_[p].asked;
      known = std::max(known, memory_[p].refreshed);
    }
    const double slack = depth * span / tokens - (way + 1);
    const double refreshed = std::max(0.0, model_.banks.delay(asked, span, slack) - known);
    const double end = refreshed + std::max(tail_[c], memory_[c].acknowledged);
    if (way + 1 <= depth) return refreshed > 0 ? finish_[c] + end : 0;
    // Rows of other phases, for which all wait once, only delay it.
    const double first = std::max(head_[id] + way, head_[c]);
    // Tokens come in bunches of `depth`, the last of which may be shorter.
    const double bunches = std::floor((tokens - 1) / depth);
    const double rest = std::min(way, (tokens - 1 - bunches * depth) * span / tokens);
    return first + bunches * (ways_[c - id].each + 1) + rest + end;
  }

  /// Time before the first step of a node, by what its phase gives it.
  double head_of(size_t i) const {
    double head = 0;
    for (const Input& in : graph_.nodes[i].inputs) {
      if (in.is_immediate()) continue;
      const auto p = static_cast<size_t>(graph_.streams[static_cast<size_t>(in.stream)].producer);
      if (graph_.nodes[p].phase != graph_.nodes[i].phase) continue;
      head = std::max(head, head_[p] + latency(p) + first_[p] + memory_[p].waited);
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
        const double at = head[p] + latency(p);
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
        tail[p] = std::max(tail[p], tail[i] + latency(p));
      }
    }
    return tail;
  }

  const Structure& s_;
  const Graph& graph_;
  const Counts& counts_;
  const Machine& machine_;
  const std::vector<UnitTiming>& timings_;  ///< by NodeId
  const MemoryTime model_;
  const std::vector<NodeCost>& nodes_;
  const std::vector<MemoryUse>& memory_;
  FirstOutputs outputs_;
  std::vector<double> first_;   ///< before each node's first output, beyond its latency
  std::vector<double> head_;    ///< time before each node's first step, from when its phase starts
  std::vector<double> tail_;    ///< and after its last
  std::vector<double> pace_;    ///< from the first to the last, by its work and its suppliers'
  std::vector<double> finish_;  ///< time of its last step
  std::vector<RowWaits> rows_;  ///< of earlier phases, that it waits for
  /// Of what a node gives; itself, and beyond all nodes, if there is none.
  std::vector<size_t> last_reader_, first_reader_;
  std::vector<std::vector<size_t>> dividing_;  ///< those that divide what a node gives for copies
  std::vector<LongestPath> ways_;              ///< from one node, by node from that one on
  std::vector<std::vector<size_t>> by_phase_;
  std::map<TensorId, std::vector<size_t>> writers_;    ///< of values, by tensor
  std::map<std::pair<TensorId, int>, double> fibers_;  ///< of stored levels that a phase writes
};

}  // namespace

RegionCycles region_time(const Structure& structure, const Counts& counts, const Machine& machine,
                         const std::vector<UnitTiming>& timings, const std::vector<NodeCost>& nodes,
                         const std::vector<MemoryUse>& memory) {
  return RegionTime(structure, counts, machine, timings, nodes, memory).run();
}

}  // namespace fuseflow::estimate
