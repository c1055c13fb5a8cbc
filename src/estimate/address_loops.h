// In which order loops go through an array, and how many bursts that asks for: an access asks for a
// new burst where it is not in the one of the access before it (ir-spec/memory.md).
#pragma once

#include <vector>

namespace fuseflow::estimate {

/// A loop around an access, while all others stay. It lists `number` of `extent` coordinates, in
/// ascending order; each is `step` bytes after the one before it.
struct AddressLoop {
  double number = 1;
  double extent = 1;
  double step = 0;
  bool whole() const { return number >= extent * (1 - 1e-9); }
};

/// Accesses of `bytes` each in loops, innermost first.
struct AddressLoops {
  double bytes = 0;
  std::vector<AddressLoop> loops;

  /// Adds the next loop around; one that goes on where the accesses inside end makes them longer.
  void add(const AddressLoop& loop);
  /// Bursts asked for; of an array that begins with a burst.
  double bursts(double burst_bytes) const;
};

}  // namespace fuseflow::estimate
