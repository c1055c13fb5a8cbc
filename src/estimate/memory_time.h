// What a machine's memory model (ir-spec/memory.md) adds to an estimate: rates and latencies, no
// queues.
#pragma once

#include "estimate/banks.h"
#include "estimate/port.h"
#include "machine/machine.h"
#include "nodes/numbers.h"

namespace fuseflow::estimate {

struct MemoryTime {
  explicit MemoryTime(const Machine& machine);

  bool timed = false;           ///< false: the machine does not charge for memory
  bool batched = false;         ///< a node waits for the answers of a batch before it goes on
  double latency = 0;           ///< cycles from a request to its answer, alone, in a closed row
  double cycles_per_burst = 0;  ///< of a channel
  double channels = 1;
  double interleave_bytes = 1;
  bool begin_together = false;  ///< all arrays begin in the same channel
  double burst_bytes = 1;
  double outstanding = 1;
  Banks banks;

  /// What goes through a port, spread evenly over its array: the channels that have a part of it.
  MemoryTraffic of_array(const Port& port) const;
  /// Cycles that what one port asks for takes, at the least of what the port and the channels let
  /// through. No more steps are under way than those whose bursts fit whole.
  double of_port(const Port& port) const;
  /// Cycles by which refreshes delay what a port asks for within `cycles`, of a node whose steps
  /// take `busy`: it goes on asking until all that may be under way is, and then waits for the
  /// oldest.
  double refresh_delay(const Port& port, double busy, double cycles) const;
  /// Cycles that what all ports ask for takes in the channels.
  double of_channels(const MemoryTraffic& asked) const {
    return asked.busiest() * cycles_per_burst;
  }
  /// How many answers a node waits for, one after the other, before it gives something: a scan of
  /// a compressed level for positions and then for a coordinate, a search for positions and probes.
  static double reads_in_turn(const Node& node, LevelKind level);
  /// Bursts of `runs` stretches of `bytes` in all, each of which begins in a new burst.
  double bursts(double bytes, double runs) const;
  /// Batched: cycles that a node takes whose steps, without memory, take `busy`, by the rules of
  /// ir-spec/memory.md; as if its fibers were of equal length.
  double of_batches(const NodeNumbers& node, double busy) const;

 private:
  double under_way(const Port& port) const;
  double latency_of(const Port& port) const;
  double in_turn(const Port& port) const;
  double of_look_ups(const Port& port) const;
  double batches(double addresses, double fibers) const;
  double of_scan_in_batches(const NodeNumbers& node, double busy) const;
  void spread(double begin, double bytes, double per_byte, ChannelBursts& bursts) const;

  double to_channel_ = 0;  ///< cycles from a request to its channel; `fixed`: to the answer
};

}  // namespace fuseflow::estimate
