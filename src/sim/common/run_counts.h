// What regions do, as numbers that add up: whole when they are simulated, fractions when estimated.
// Pure data; cycles and energy, which need pauses between regions, are not here.
#pragma once

#include <cstdint>

namespace fuseflow {

template <typename Number>
struct RunCounts {
  Number flops = 0;
  Number dram_read_bytes = 0;
  Number dram_write_bytes = 0;
  Number scratchpad_read_bytes = 0;
  Number scratchpad_write_bytes = 0;
  Number link_bytes = 0;
  Number register_bytes = 0;  ///< accumulators and tiles kept in registers (graphs of tiles)
  Number tokens = 0;
  /// Between cores and an L2 (graphs of tiles on a machine that has one); what it does not hold is
  /// in the bytes of DRAM, too.
  Number l2_read_bytes = 0;
  Number l2_write_bytes = 0;
  Number dram_bursts = 0;  ///< that the memory model served; 0: memory takes no time

  template <typename Other>
  void add_counts(const RunCounts<Other>& other) {
    flops += static_cast<Number>(other.flops);
    dram_read_bytes += static_cast<Number>(other.dram_read_bytes);
    dram_write_bytes += static_cast<Number>(other.dram_write_bytes);
    scratchpad_read_bytes += static_cast<Number>(other.scratchpad_read_bytes);
    scratchpad_write_bytes += static_cast<Number>(other.scratchpad_write_bytes);
    link_bytes += static_cast<Number>(other.link_bytes);
    register_bytes += static_cast<Number>(other.register_bytes);
    tokens += static_cast<Number>(other.tokens);
    l2_read_bytes += static_cast<Number>(other.l2_read_bytes);
    l2_write_bytes += static_cast<Number>(other.l2_write_bytes);
    dram_bursts += static_cast<Number>(other.dram_bursts);
  }
};

}  // namespace fuseflow
