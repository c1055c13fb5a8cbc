// What a machine's memory model (ir-spec/memory.md) adds to an estimate: rates and latencies, no
// queues.
#pragma once

#include "machine/machine.h"
#include "nodes/numbers.h"

namespace fuseflow::estimate {

struct MemoryTime {
  explicit MemoryTime(const Machine& machine);

  bool timed = false;           ///< false: the machine does not charge for memory
  bool batched = false;         ///< a node waits for the answers of a batch before it goes on
  double latency = 0;           ///< cycles from a request to its answer, alone
  double cycles_per_burst = 0;  ///< of all channels together
  double burst_bytes = 1;
  double outstanding = 1;

  /// Cycles that `bursts` of one port take, at the least of what the port and the channels let
  /// through.
  double of_port(double bursts) const;
  /// Cycles that `bursts` of all ports take in the channels.
  double of_channels(double bursts) const { return bursts * cycles_per_burst; }
  /// Bursts of `runs` stretches of `bytes` in all, each of which begins in a new burst.
  double bursts(double bytes, double runs) const;
  /// Batched: cycles that a node takes whose steps, without memory, take `busy`, by the rules of
  /// ir-spec/memory.md; as if its fibers were of equal length.
  double of_batches(const NodeNumbers& node, double busy) const;

 private:
  double batches(double addresses, double fibers) const;
};

}  // namespace fuseflow::estimate
