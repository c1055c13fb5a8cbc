// What all nodes of the engine share: their ports and outputs, their steps, their counts. A node
// works in batches; each kind is a class in kernels/*.cpp, made by make_node. Those that may ask
// memory are MemoryNodes (memory_node.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/common/node_access.h"
#include "sim/common/node_timing.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"
#include "sim/common/written_tensors.h"
#include "sim/data/steps.h"
#include "sim/functional/asking_steps.h"
#include "sim/functional/port.h"
#include "sim/functional/rows.h"
#include "sim/memory/addresses.h"

namespace fuseflow::engine {

/// What the nodes need of the run around them.
struct Context {
  const Program& program;
  const Graph& graph;
  const Machine& machine;
  const std::vector<UnitTiming>& timings;  ///< by NodeId
  const TensorData& data;
  const Addresses* addresses = nullptr;  ///< null: memory takes no time
  BlockPool* blocks = nullptr;           ///< null: the graph has no blocks
  const Rows* rows = nullptr;            ///< of phases that start together; null: there are none
  bool collects_rows = false;            ///< writers note their events
  int64_t max_memory_bytes = 0;          ///< as RunOptions has it; 0: no limit
  uint32_t chunk = 16384;                ///< tokens a node gives at a time, about
  uint32_t run_length_from = 32;         ///< as EngineTuning has it
  const Storage* storage(TensorId tensor) const { return data.find(tensor); }
};

class EngineNode;

/// Gives times to what a node has just made, takes its tokens and gives on what it has made. Nodes
/// may share one; a thread then works all of them.
class NodeClock {
 public:
  virtual ~NodeClock() = default;
  virtual void time_batch(EngineNode& node) = 0;
  /// The node's steps that wait for their times, counted as waiting tokens.
  virtual int64_t untimed(const EngineNode&) const { return 0; }
  /// Nodes that gave tokens to others in the last time_batch(), beside the one that it was of.
  virtual std::span<const EngineNode* const> also_gave() const { return {}; }
  /// Overwrites the counts of a node that depend on times, where the node has not got them yet.
  virtual void fill(const EngineNode&, NodeStats&) const {}
};

class EngineNode {
 public:
  EngineNode(const Context& context, NodeId id);
  virtual ~EngineNode() = default;
  EngineNode(const EngineNode&) = delete;
  EngineNode& operator=(const EngineNode&) = delete;

  /// Does the next batch. False: nothing could be done with the tokens that are here.
  bool work();
  /// Whether the node reads the payloads of `input`: then they are there (data, or run lengths if
  /// it takes those). Those of an input that it does not read may be there too, for another
  /// consumer, or be null.
  virtual bool reads(size_t) const { return true; }
  /// Whether it works on run-length payloads (run_length.h) of `input` as they are.
  virtual bool takes_run_length(size_t) const { return false; }
  /// What a writer has stored; null for other kinds.
  virtual Written* written() { return nullptr; }

  NodeId id() const { return id_; }
  const Node& node() const { return node_; }
  bool ended() const { return ended_; }
  const NodeStats& stats() const { return stats_; }
  int64_t interval() const { return interval_; }
  int64_t latency() const { return latency_; }
  /// Whether it notes when the rows that it writes are complete.
  bool collects_rows() { return context_.collects_rows && written() != nullptr; }

  /// Whether it has two stores, one of which is drained while the other is filled.
  bool two_stores() const { return two_stores_; }

  // --- set by the executor ---
  std::vector<Port*> ports;      ///< by input; null for an immediate
  std::vector<Output*> outputs;  ///< by output; null where there is no stream

  // --- read by the executor, from any thread ---
  /// Of a writer: bytes of its array between the values that it was given.
  std::atomic<int64_t> gap_bytes = 0;

  // --- read by the clock ---
  std::vector<StepSource> sides;  ///< what its steps take and give, in the order of the data
  std::vector<std::vector<uint64_t>> bursts;  ///< requested, by array (a writer: by output)
  /// Where its own steps ask memory and wait: one side. Whatever the memory, for a gallop; for
  /// other kinds where memory is asked in batches.
  std::optional<AskingSteps> asking;
  RowGates row_gates;         ///< of a load of what a phase started together writes
  size_t first_row_lane = 0;  ///< of the load: its lane of the first writer's events
  WrittenRows written_rows;   ///< of a writer, where they are collected

  // --- the clock's ---
  NodeClock* clock = nullptr;
  size_t clock_slot = 0;  ///< its number among those that share the clock

  /// Tokens that the node gives in the batch at hand.
  struct OutputSegment {
    size_t output = 0;
    Segment segment;
  };
  std::vector<OutputSegment>& given() { return given_; }
  /// One input more for each gate: the events that its loads wait for.
  void add_rows_lanes() {
    first_row_lane = steps().in.size();
    for (size_t g = 0; g < row_gates.size(); ++g) {
      sides.back().in_lane.push_back(static_cast<int>(first_row_lane + g));
      sides.back().add_in_lane().always_listed = true;
    }
  }
  /// n steps, of which the first and the last were at these times.
  void count_steps(const Steps& steps, int64_t first, int64_t last);
  /// The last step so far was no earlier: of a side that count_steps() does not count.
  void reach(int64_t time) { stats_.last_step = std::max(stats_.last_step, time); }

  /// Tokens that wait at the fullest consumer, or for their times.
  int64_t backlog() const;
  /// About how many tokens the next batch has (in the stream that has most), by what waits and by
  /// what became of the tokens taken so far.
  double expected() const;

 protected:
  /// The steps of the batch at hand (of the last side).
  Steps& steps() { return sides.back().now; }
  /// The payloads and the steps of the next batch. False: none. May throw Disagreement
  /// (outer_input.h).
  virtual bool compute() = 0;
  virtual void start_batch() {}
  /// Loops around an input.
  int depth(size_t input) const { return loops_around(context_.graph, node_, input); }
  /// What a reduction starts with.
  float start_value() const {
    return node_.reduction == Reduction::mean ? identity(Reduction::mean) : node_.init;
  }
  /// Tokens that are ready at every one of the ports first .. first+count-1 (0: all others).
  uint32_t ready(size_t first, size_t count);
  /// The next n tokens of each of those ports, which are of one space; an immediate has none.
  void read_batches(size_t first, size_t count, uint32_t n, std::vector<Batch>& batches) const;
  /// The next batch of input `inner`, at most `most` tokens: as far as the inputs of its space have
  /// them and the outer inputs serve them. Calls walk(i, outer, batch) for each outer input; it
  /// walks it along the batch and returns how many tokens are served. False: none.
  template <typename Walk>
  bool read_beside(size_t inner, uint32_t most, Batch& batch, Walk&& walk);
  /// n steps, each of which takes a token of every input and gives one to every output, unless
  /// their lanes say otherwise.
  void add_steps(uint32_t n) { steps().add(n, interval_); }
  /// The lane of an input, on the side that takes.
  Lane& in_lane(size_t input) { return sides.front().now.in[sides.front().in_lane[input]]; }
  Lane& out_lane(size_t output) { return steps().out[sides.back().out_lane[output]]; }
  /// In the step the load of a reference waits for its row.
  void wait_for_row(uint32_t step, int64_t reference) {
    row_gates.wait_for(reference, [&](size_t gate, uint32_t count) {
      Places& rows = steps().in[first_row_lane + gate].at;
      rows.insert(rows.end(), count, step);
    });
  }
  /// Gives tokens to an output, if it has a stream.
  void give(size_t output, const StructureRef& structure, Payload payload) {
    if (output >= outputs.size() || outputs[output] == nullptr) return;
    given_.push_back({output, {structure, 0, structure->count, 0, std::move(payload), {}}});
  }
  /// Gives the first n tokens of a batch, whose structure they keep, with another payload.
  void give_like(size_t output, const Batch& like, uint32_t n, Payload payload) {
    if (output >= outputs.size() || outputs[output] == nullptr) return;
    given_.push_back(
        {output, {like.structure, like.begin, n, like.first_stop, std::move(payload), {}}});
  }
  bool connected(size_t output) const {
    return output < outputs.size() && outputs[output] != nullptr && outputs[output]->connected();
  }
  /// A payload made of those of the next `tokens` tokens of the port, which must not be taken yet:
  /// where they name blocks, it keeps those too.
  Payload keeping(Payload payload, const Port& from, uint32_t tokens) const;
  Payload keeping(Payload payload, std::vector<std::shared_ptr<const void>> keepers) const;
  /// The name of a block full of one value, good as long as the node.
  uint32_t constant_block(float value, int64_t volume);
  bool blocked(StreamId stream) const {
    return stream >= 0 && !context_.graph.streams[stream].block.empty();
  }
  /// Whether payloads of so many tokens with so many stops are given by run lengths.
  bool worth_run_length(size_t tokens, size_t stops) const {
    return tokens >= context_.run_length_from * stops;
  }
  bool reads_output(size_t output) const {
    return output < outputs.size() && outputs[output] != nullptr && outputs[output]->payload_read;
  }
  /// What only a defect of lowering or of the verifier explains.
  [[noreturn]] void disagree(const std::string& what) const {
    blame_graph(context_.program, context_.graph, id_, what);
  }
  /// What a graph written by hand can do with some data: it is rejected.
  [[noreturn]] void refuse(const std::string& what) const {
    blame_data(context_.program, context_.graph, id_, what);
  }
  /// The batches must have the same tokens; throws Error(internal).
  void check_like(const Batch& a, const Batch& b) const;

  const Context& context_;
  const NodeId id_;
  const Node& node_;
  const int64_t interval_;
  const int64_t latency_;
  NodeStats stats_;
  bool ended_ = false;
  bool two_stores_ = false;

 private:
  bool compute_or_disagree();

  std::vector<OutputSegment> given_;
  std::vector<std::unique_ptr<float[]>> constants_;
};

}  // namespace fuseflow::engine
