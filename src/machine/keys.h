// The table of machine keys: name, where the value lives, what is allowed, what it means. A new
// constant of the machine is one line in keys.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "machine/machine.h"

namespace fuseflow {

/// A key bound to its field in one Machine.
struct MachineKey {
  std::string name;  ///< dotted: `units.scan.latency_cycles`
  std::variant<int64_t*, double*, bool*, std::string*> field;
  double least = 0;                       ///< of a number
  std::vector<std::string> choices = {};  ///< of a string; empty: anything
  /// Of a whole number. No machine has a constant near this; it keeps sums of times far from
  /// overflow.
  int64_t most = int64_t{1} << 50;
};

/// All keys, in the order in which they are printed (top-level ones first, then by section).
std::vector<MachineKey> machine_keys(Machine& machine);

}  // namespace fuseflow
