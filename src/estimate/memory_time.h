// What a machine's memory model (ir-spec/memory.md) adds to an estimate: rates and latencies, no
// queues.
#pragma once

#include "estimate/port.h"
#include "machine/machine.h"
#include "nodes/numbers.h"

namespace fuseflow::estimate {

/// What goes to memory through some ports.
struct Asked {
  double bursts = 0;         ///< requested
  double places = 0;         ///< bursts of the arrays that are met within a refresh of a bank
  double first_channel = 0;  ///< of the bursts requested, those to the channel that serves most
  Asked& operator+=(const Asked& other) {
    bursts += other.bursts;
    places += other.places;
    first_channel += other.first_channel;
    return *this;
  }
};

struct MemoryTime {
  explicit MemoryTime(const Machine& machine);

  bool timed = false;           ///< false: the machine does not charge for memory
  bool batched = false;         ///< a node waits for the answers of a batch before it goes on
  double latency = 0;           ///< cycles from a request to its answer, alone
  double cycles_per_burst = 0;  ///< of a channel
  double channels = 1;
  double interleave_bytes = 1;
  bool begin_together = false;  ///< all arrays begin in the same channel
  double burst_bytes = 1;
  double outstanding = 1;
  double refresh = 0;           ///< cycles that the refresh of a bank takes
  double refresh_interval = 0;  ///< cycles from one refresh of a bank to the next; 0: none
  double banks = 0;             ///< of all channels

  /// What goes through a port, spread evenly over its array.
  Asked of_array(const Port& port) const;
  /// Cycles that what one port asks for takes, at the least of what the port and the channels let
  /// through. No more steps are under way than those whose bursts fit whole.
  double of_port(const Port& port) const;
  /// Cycles that what all ports ask for takes in the channels.
  double of_channels(const Asked& asked) const { return asked.first_channel * cycles_per_burst; }
  /// How many answers a node waits for, one behind the other, before it gives something: a scan of
  /// a compressed level for positions and then for a coordinate, a search for positions and probes.
  static double reads_in_turn(const Node& node, LevelKind level);
  /// Cycles by which refreshes delay requests of `asked.bursts`, evenly spread over `cycles` and
  /// over what they reach, of which each may come `slack` cycles late: the first request to a bank
  /// since its refresh began waits for what is left of it.
  double refreshing(const Asked& asked, double cycles, double slack) const;
  /// Bursts of `runs` stretches of `bytes` in all, each of which begins in a new burst.
  double bursts(double bytes, double runs) const;
  /// Batched: cycles that a node takes whose steps, without memory, take `busy`, by the rules of
  /// ir-spec/memory.md; as if its fibers were of equal length.
  double of_batches(const NodeNumbers& node, double busy) const;

 private:
  double batches(double addresses, double fibers) const;
};

}  // namespace fuseflow::estimate
