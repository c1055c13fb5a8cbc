// The interface of the simulator's executors: run one graph on one machine. Two executors implement
// it: `naive` (sim/naive/interpret.h), the executable specification, one step at a time, and `fast`
// (sim/fast_executor.h), whole bursts at a time. Both give equal results, counts and cycles on
// every graph. Semantics: ir-spec/nodes.md; timing, counting rules: ir-spec/timing.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "resources/resources.h"
#include "sim/common/activity.h"
#include "tensor/storage.h"

namespace fuseflow {

/// The stored tensors of a program, by TensorId; null where nothing is stored yet.
struct TensorData {
  std::vector<std::shared_ptr<const Storage>> storage;
  const Storage* find(TensorId tensor) const {
    const auto i = static_cast<size_t>(tensor);
    return tensor >= 0 && i < storage.size() ? storage[i].get() : nullptr;
  }
};

/// The payload of a reference that points nowhere (N).
inline constexpr uint32_t kAbsent = 0xFFFFFFFFU;

/// A token as tests compare it. A val payload is the f32's bits.
struct TokenRecord {
  static constexpr int8_t kPayload = -1;
  static constexpr int8_t kDone = 127;
  int8_t stop = kPayload;  ///< kPayload, kDone, or the level of a stop
  bool closes = false;     ///< stops: ends the fiber of a real parent element
  uint32_t payload = 0;    ///< payloads only
  int64_t time = 0;        ///< step time at which it was given (it arrives `latency` later)
  bool operator==(const TokenRecord&) const = default;
};

enum class Executor : uint8_t { fast, naive };

struct RunOptions {
  Executor executor = Executor::fast;
  int threads = 1;
  int64_t max_cycles = 0;  ///< 0: no limit (each limit)
  double max_seconds = 0;
  int64_t max_memory_bytes = 0;               ///< of the simulator's own buffers and results
  const std::atomic<bool>* cancel = nullptr;  ///< ends the run soon after it becomes true
  bool record_streams = false;                ///< keep every token (tests); unbounded memory
  bool explain_deadlock = true;               ///< search for the depth that would free it
  /// Called now and then from the calling thread with the simulated time reached so far.
  std::function<void(int64_t cycles, int64_t tokens)> progress;
  bool trace = false;  ///< keep RunResult::activity and RunResult::stalls
};

/// busy + starved + blocked = cycles of the region, for every node.
struct NodeStats {
  int64_t busy = 0;        ///< cycles taken by steps (a step lasts its interval)
  int64_t starved = 0;     ///< the rest: waiting for inputs, not yet started, or ended
  int64_t blocked = 0;     ///< cycles in which only a full output FIFO (a credit) was missing
  int64_t tokens_in = 0;   ///< taken, over all inputs
  int64_t tokens_out = 0;  ///< given, over all connected outputs
  int64_t steps = 0;
  int64_t first_step = -1;
  int64_t last_step = -1;
  int64_t flops = 0;
  int64_t read_bytes = 0;  ///< from memory or scratchpad, whichever the tensor is in
  int64_t write_bytes = 0;
};

struct StreamStats {
  int64_t tokens = 0;  ///< stops and done included; a stream without consumers carries none
  int64_t peak = 0;    ///< most tokens held for one consumer: the least depth that changes nothing
};

/// A node that cannot go on: `on` is the stream it waits for (`full`: to be emptied by `other`, the
/// consumer; otherwise: to be filled by `other`, the producer).
struct Wait {
  NodeId node = -1;
  StreamId on = -1;
  bool full = false;
  NodeId other = -1;
  int64_t held = 0;   ///< tokens in the stream now
  int64_t depth = 0;  ///< its depth
};

/// Which `fifo_depth` frees a deadlock.
struct DepthAdvice {
  int64_t depth = 0;  ///< with which the graph was seen to end; 0: none was found
  int64_t tried = 0;  ///< the largest that was seen to deadlock; 0: FIFOs of no depth end it
};

struct Deadlock {
  std::vector<Wait> waits;  ///< every node that has not ended, by NodeId
  std::vector<Wait> cycle;  ///< the shortest cycle: each waits for the next, the last for the first
  DepthAdvice advice;
};

enum class Finish : uint8_t { done, deadlock, max_cycles, max_seconds, max_memory, cancelled };

struct RunResult {
  Finish finish = Finish::done;
  int64_t cycles = 0;  ///< largest step time + 1; what was reached when the run did not finish
  int64_t flops = 0;
  int64_t dram_read_bytes = 0;
  int64_t dram_write_bytes = 0;
  int64_t scratchpad_read_bytes = 0;
  int64_t scratchpad_write_bytes = 0;
  int64_t link_bytes = 0;
  int64_t register_bytes = 0;  ///< accumulators and tiles kept in registers (graphs of tiles)
  int64_t tokens = 0;
  int64_t peak_fifo_tokens = 0;   ///< largest peak of a stream
  int64_t memory_requests = 0;    ///< bursts that the memory model served
  int64_t memory_row_hits = 0;    ///< of those, to an open row (dram.model=banked)
  int64_t timing_operations = 0;  ///< how often the executor worked out a time (a run counts once)
  std::vector<NodeStats> nodes;   ///< by NodeId
  std::vector<StreamStats> streams;  ///< by StreamId
  std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>>
      results;                                     ///< by TensorId, ascending
  std::vector<std::vector<TokenRecord>> recorded;  ///< by StreamId, when asked for
  std::vector<Activity> activity;                  ///< by NodeId, when asked for (--trace)
  std::vector<Activity> stalls;                    ///< the same: the cycles in which it was blocked
  Deadlock deadlock;                               ///< when finish is deadlock
};

/// Runs a verified graph. `data` holds every tensor that the graph reads and does not write. Throws
/// Error(internal) when streams that must agree do not (a defect of the lowering), Error(rejected)
/// when data and graph disagree.
RunResult run_graph(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options);

/// Latency and interval of a node's steps: its class's, more for steps on blocks
/// (ir-spec/blocks.md).
UnitTiming node_timing(const Machine& machine, const Graph& graph, const Node& node);

}  // namespace fuseflow
