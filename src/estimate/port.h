// What one port of a node (ir-spec/memory.md) requests.
#pragma once

namespace fuseflow::estimate {

struct Port {
  double bursts = 0;       ///< requested
  double array_bytes = 0;  ///< of what it reads or writes
  double near_bursts = 0;  ///< of the array, those met while a bank is refreshed
  double together = 1;     ///< bursts that one step asks for
};

}  // namespace fuseflow::estimate
