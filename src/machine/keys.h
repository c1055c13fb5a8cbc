// The table of machine keys: name, where the value lives, what it means, what is allowed. A new
// constant of a machine is a field of machine.h, with its default, and a row in keys.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "machine/machine.h"

namespace fuseflow {

/// A key bound to its field in one Machine.
struct MachineKey {
  std::string name;  ///< dotted: `units.scan.latency_cycles`
  std::variant<int64_t*, double*, bool*, std::string*> field;
  std::string_view meaning;               ///< one line; the unit ends the name
  double least = 0;                       ///< of a number
  std::vector<std::string> choices = {};  ///< of a string; empty: anything
  /// The largest value of a number. No machine has a constant near this; it keeps sums of times far
  /// from overflow.
  int64_t most = int64_t{1} << 50;
};

/// What of a machine a section describes. `links` and `l2` describe nothing without `core`.
enum class MachinePart : uint8_t { common, streams, cores, around_cores, energy, area };

/// The part that a section, or a key in it, is of: `core`, `units.scan`, `core.count`.
MachinePart part_of(std::string_view section);

/// All keys, in the order in which they are printed (top-level ones first, then by section).
std::vector<MachineKey> machine_keys(Machine& machine);

}  // namespace fuseflow
