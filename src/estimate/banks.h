// Rows and refreshes of DRAM (ir-spec/memory.md, "banked"), on average: no queues.
#pragma once

#include "estimate/port.h"
#include "machine/machine.h"

namespace fuseflow::estimate {

class Banks {
 public:
  explicit Banks(const Machine& machine);

  /// Cycles from a command to a closed bank to the end of the data.
  double latency() const { return opening_ + access_; }
  /// The mean latency of a port's bursts with so many under way at a time: most find their row
  /// open.
  double latency(const Port& port, double under_way) const;
  /// Banks of a channel in which what a port meets at a time lies.
  double met(const Port& port) const;
  /// Cycles by which refreshes delay requests of `asked.bursts`, evenly spread over `cycles` and
  /// over what they reach, of which each may come `slack` cycles late: the first request to a bank
  /// since its refresh began waits for what is left of it. All channels refresh a bank at a time,
  /// and what waits in one of them waits beside what waits in the others.
  double delay(const MemoryTraffic& asked, double cycles, double slack) const;
  /// Cycles that a port takes, so many requests under way, whose node's steps take `busy`; 0 where
  /// it stays in one bank of each group, so that delay() tells it as well.
  double sampled(const Port& port, double under_way, double busy) const;
  /// How long a bank cannot be read because of a refresh.
  double refresh() const { return refresh_; }

 private:
  Machine machine_;
  double channels_ = 1;
  double burst_bytes_ = 1;
  double groups_ = 1;  ///< of a channel
  double banks_ = 1;   ///< of a channel
  double row_bytes_ = 1;
  // Cycles. Without banks there is none of it.
  double opening_ = 0;           ///< a row
  double closing_ = 0;           ///< a row
  double access_ = 0;            ///< to a row that is open
  double refresh_ = 0;           ///< with the row that it closes, and opens again
  double refresh_interval_ = 0;  ///< from one refresh of a bank to the next
};

}  // namespace fuseflow::estimate
