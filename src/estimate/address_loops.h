// In which order loops go through an array, and how many bursts that asks for: an access asks for a
// new burst where it is not in the one of the access before it (ir-spec/memory.md).
#pragma once

#include <cstdint>
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
  /// Whether each jump is known: it is not where coordinates are listed.
  bool known() const;
};

/// The bursts that loops ask for, one after another, again and again. All loops are whole.
class AddressWalk {
 public:
  AddressWalk(const AddressLoops& accesses, double burst_bytes);
  /// The next burst's number in its array.
  uint64_t next();

 private:
  void step();

  const AddressLoops& accesses_;
  const uint64_t burst_bytes_;
  std::vector<uint64_t> at_;  ///< by loop: its element
  uint64_t access_ = 0;       ///< where the one at hand begins
  uint64_t first_ = 1;        ///< bursts of it that are still to come
  uint64_t end_ = 0;
  uint64_t last_ = UINT64_MAX;  ///< the burst asked for last
};

}  // namespace fuseflow::estimate
