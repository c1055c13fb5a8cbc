// What a run of a graph gives: counts of nodes and streams, results, and why it did not end. Pure
// data.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "sim/common/activity.h"
#include "sim/common/run_counts.h"
#include "sim/common/token.h"
#include "tensor/storage.h"

namespace fuseflow {

/// busy + memory + starved + blocked = cycles of the region, for every node.
struct NodeStats {
  int64_t busy = 0;        ///< cycles taken by steps (a step lasts its interval)
  int64_t memory = 0;      ///< cycles in which only an answer of memory was missing
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
  /// Graphs of tiles, and conversions: what the node moves on chip.
  int64_t tile_scratchpad_read_bytes = 0;
  int64_t tile_scratchpad_write_bytes = 0;
  int64_t tile_link_bytes = 0;
  int64_t tile_register_bytes = 0;
};

struct StreamStats {
  int64_t tokens = 0;  ///< stops and done included; a stream without consumers carries none
  int64_t peak = 0;    ///< most tokens held for one consumer: the least depth that changes nothing
  /// Cycles in which its producer's step lacked only room, and that for one consumer of this stream
  /// came last; of the consumer for which it is most. Only where it is asked for
  /// (RunOptions::full_streams).
  int64_t blocked = 0;
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

struct RunResult : RunCounts<int64_t> {
  Finish finish = Finish::done;
  int64_t cycles = 0;  ///< largest step time + 1; what was reached when the run did not finish
  int64_t peak_fifo_tokens = 0;      ///< largest peak of a stream
  int64_t memory_row_hits = 0;       ///< of those, to an open row (dram.model=banked)
  std::vector<NodeStats> nodes;      ///< by NodeId
  std::vector<StreamStats> streams;  ///< by StreamId
  std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>>
      results;                                     ///< by TensorId, ascending
  std::vector<std::vector<TokenRecord>> recorded;  ///< by StreamId, when asked for
  std::vector<Activity> activity;                  ///< by NodeId, when asked for: busy cycles
  std::vector<Activity> stalls;                    ///< cycles in which a node was blocked
  std::vector<Activity> waits;                     ///< cycles in which a node waited for memory
  Deadlock deadlock;                               ///< when finish is deadlock
};

}  // namespace fuseflow
