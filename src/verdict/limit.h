// What limits a region, and how far it is from what its nodes and its memory could do: from
// figures alone, whatever counted them. The rules: ir-spec/verdict.md.
#pragma once

#include <optional>

#include "ir/program.h"
#include "machine/machine.h"
#include "verdict/figures.h"

namespace fuseflow {

enum class LimitKind : uint8_t {
  compute,    ///< steps of one node
  reader,     ///< of one that reads a tensor
  writer,     ///< of one that writes a result
  bandwidth,  ///< of memory
  latency,    ///< of memory
  fifo,       ///< room in one stream
  loading,    ///< of the scratchpad's inputs, before the first step
  start       ///< no node, no memory, no stream: steps wait for each other
};

struct Limit {
  LimitKind kind = LimitKind::start;
  NodeId node = -1;       ///< that works or waits most; -1: there are none
  StreamId stream = -1;   ///< that is full, and blocks its producer for longest; -1: none of weight
  NodeId busiest = -1;    ///< of the slowest phase
  double busy_share = 0;  ///< of the phase's cycles in which it works
  double share = 0;       ///< of the phase's cycles in which the node works, or waits; the stream
                          ///< blocks; memory moves bytes
  double stream_share = 0;  ///< in which the stream blocks
  double bytes_share = 0;   ///< of what all channels of memory can move
  int phase = -1;          ///< the slowest, of several that follow each other; -1: one has the time
  int phases = 1;          ///< that follow each other
  double phase_share = 1;  ///< of the region's cycles
  double loading_share = 0;  ///< of the region's cycles, before the first phase; 0: of no weight
  double least_cycles = 0;   ///< if every phase took as long as its busiest node, or its memory
  NodeId least_node = -1;    ///< the busiest of the slowest phase; -1: memory takes longer
};

/// Nothing for a region without nodes or cycles.
std::optional<Limit> find_limit(const Graph& graph, const Machine& machine,
                                const RegionFigures& figures);

}  // namespace fuseflow
