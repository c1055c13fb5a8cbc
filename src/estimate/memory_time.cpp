#include "estimate/memory_time.h"

#include <algorithm>

namespace fuseflow::estimate {

MemoryTime::MemoryTime(const Machine& machine) : timed(machine.dram.model != "none") {
  const DramModel& dram = machine.dram;
  burst_bytes = static_cast<double>(std::max<int64_t>(1, dram.burst_bytes));
  outstanding = static_cast<double>(std::max<int64_t>(1, dram.outstanding));
  latency = static_cast<double>(dram.latency_cycles);
  if (timed) cycles_per_burst = burst_bytes / machine.dram_bytes_per_cycle();
  if (dram.model == "fixed") return;
  const double cycles_per_ps = machine.clock_gigahertz / 1000;
  const DramModel::Timing& t = dram.timing;
  latency +=
      static_cast<double>(t.row_to_column_ps + t.read_latency_ps + t.burst_ps) * cycles_per_ps;
}

double MemoryTime::of_port(double bursts) const {
  return bursts * std::max({(latency + 1) / outstanding, cycles_per_burst, 1.0});
}

double MemoryTime::bursts(double bytes, double runs) const {
  return bytes > 0 ? std::max(runs, bytes / burst_bytes) : 0;
}

}  // namespace fuseflow::estimate
