// What ports of nodes (ir-spec/memory.md) request.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "estimate/address_loops.h"

namespace fuseflow::estimate {

/// What is met of an array: pieces that lie anywhere in it.
struct ArrayPieces {
  double number = 1;
  double bytes = 0;  ///< of each
};

/// Binary searches of the fibers of a stored level.
struct Searches {
  double bursts = 0;       ///< that one asks for; 0: there are none
  double fiber_bytes = 0;  ///< of the fiber that it is in
  double in_fiber = 1;     ///< of them, one after another
};

/// One port.
struct Port {
  double bursts = 0;       ///< requested
  double array_bytes = 0;  ///< of what it reads or writes
  ArrayPieces near{};      ///< of the array, what is met while a bank is refreshed
  double together = 1;     ///< bursts that one step asks for
  double begin = 0;        ///< the address of the array
  AddressLoops order{};    ///< in which accesses jump, where it is known
  Searches search{};       ///< that its bursts are asked for by
};

/// Bursts by channel: how many more there are from each listed channel on than in the one before.
class ChannelBursts {
 public:
  void add(double first, double end, double bursts) {
    changes_.emplace_back(first, bursts);
    changes_.emplace_back(end, -bursts);
  }
  ChannelBursts& operator+=(const ChannelBursts& other) {
    changes_.insert(changes_.end(), other.changes_.begin(), other.changes_.end());
    return *this;
  }
  /// Of the channel that has most.
  double most() const;

 private:
  std::vector<std::pair<double, double>> changes_;
};

/// What goes to memory through some ports.
struct MemoryTraffic {
  double bursts = 0;   ///< requested
  double banks = 0;    ///< of a channel, that are met while one is refreshed
  double of_each = 0;  ///< of the bursts requested, those to each channel, or to the busiest one
  ChannelBursts more;  ///< those that only some channels get
  double busiest() const { return of_each + more.most(); }
  MemoryTraffic& operator+=(const MemoryTraffic& other) {
    bursts += other.bursts;
    banks = std::max(banks, other.banks);  // arrays lie side by side, in the same banks
    of_each += other.of_each;
    more += other.more;
    return *this;
  }
};

}  // namespace fuseflow::estimate
