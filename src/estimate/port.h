// What ports of nodes (ir-spec/memory.md) request.
#pragma once

#include <algorithm>

namespace fuseflow::estimate {

/// What is met of an array: pieces that lie anywhere in it.
struct ArrayPieces {
  double number = 1;
  double bytes = 0;  ///< of each
};

/// One port.
struct Port {
  double bursts = 0;       ///< requested
  double array_bytes = 0;  ///< of what it reads or writes
  ArrayPieces near{};      ///< of the array, what is met while a bank is refreshed
  double together = 1;     ///< bursts that one step asks for
};

/// What goes to memory through some ports.
struct MemoryTraffic {
  double bursts = 0;         ///< requested
  double banks = 0;          ///< of a channel, that are met while one is refreshed
  double first_channel = 0;  ///< of the bursts requested, those to the channel that serves most
  MemoryTraffic& operator+=(const MemoryTraffic& other) {
    bursts += other.bursts;
    banks = std::max(banks, other.banks);  // arrays lie side by side, in the same banks
    first_channel += other.first_channel;
    return *this;
  }
};

}  // namespace fuseflow::estimate
