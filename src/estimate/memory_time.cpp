#include "estimate/memory_time.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::estimate {

MemoryTime::MemoryTime(const Machine& machine)
    : timed(machine.dram.model != "none"), batched(machine.dram.model == "comal") {
  const DramModel& dram = machine.dram;
  burst_bytes = static_cast<double>(std::max<int64_t>(1, dram.burst_bytes));
  outstanding = static_cast<double>(std::max<int64_t>(1, dram.outstanding));
  latency = static_cast<double>(dram.latency_cycles);
  if (timed) cycles_per_burst = burst_bytes / machine.dram_bytes_per_cycle();
  if (dram.model != "banked") return;
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

double MemoryTime::batches(double addresses, double fibers) const {
  if (addresses <= 0) return 0;
  const double each = std::max(1.0, addresses / std::max(1.0, fibers));
  return addresses / each * std::ceil(each / outstanding);
}

double MemoryTime::of_batches(const NodeNumbers& node, double busy) const {
  const double refs = node.own.present;
  const bool values = node.node.kind == NodeKind::array || node.node.kind == NodeKind::write_values;
  if (!values && node.level == LevelKind::dense) return busy;  // nothing is stored
  switch (node.node.kind) {
    case NodeKind::array:
      return busy + latency * batches(refs, node.input(0).nonempty);
    case NodeKind::locate:
      return busy + 2 * latency * refs;
    case NodeKind::write_values:
      return busy + latency * node.own.stored;
    case NodeKind::write_level:
      return busy + latency * (node.own.stored + node.own.fibers) / outstanding;
    default: {  // a scan: its elements take no step of their own
      const SpaceCount& given = node.output(0);
      return (latency + 1) * refs + latency * batches(given.elements, given.nonempty);
    }
  }
}

}  // namespace fuseflow::estimate
