#include "estimate/memory_time.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::estimate {

namespace {

constexpr double kArrayAlignment = 4096;  // bytes; ir-spec/memory.md, "Addresses"

}  // namespace

MemoryTime::MemoryTime(const Machine& machine)
    : timed(machine.dram.model != "none"), batched(machine.dram.model == "comal") {
  const DramModel& dram = machine.dram;
  burst_bytes = static_cast<double>(std::max<int64_t>(1, dram.burst_bytes));
  outstanding = static_cast<double>(std::max<int64_t>(1, dram.outstanding));
  latency = static_cast<double>(dram.latency_cycles);
  channels = static_cast<double>(std::max<int64_t>(1, dram.channels));
  interleave_bytes = static_cast<double>(std::max<int64_t>(1, dram.interleave_bytes));
  begin_together = !batched && std::fmod(kArrayAlignment, channels * interleave_bytes) == 0;
  if (timed) cycles_per_burst = channels * burst_bytes / machine.dram_bytes_per_cycle();
  if (dram.model != "banked") return;
  const double cycles_per_ps = machine.clock_gigahertz / 1000;
  const DramModel::Timing& t = dram.timing;
  refresh = static_cast<double>(t.refresh_ps) * cycles_per_ps;
  refresh_interval = static_cast<double>(t.refresh_interval_ps) * cycles_per_ps;
  banks = static_cast<double>(dram.channels * dram.bank_groups * dram.banks_per_group);
  latency +=
      static_cast<double>(t.row_to_column_ps + t.read_latency_ps + t.burst_ps) * cycles_per_ps;
}

Asked MemoryTime::of_array(const Port& port) const {
  Asked asked{port.bursts, port.near_bursts, port.bursts / channels};
  if (begin_together && port.array_bytes > 0) {
    // Every `channels`-th piece of the array is in the first one, which has the most.
    const double pieces = std::ceil(port.array_bytes / (channels * interleave_bytes));
    asked.first_channel *=
        std::min(channels, channels * pieces * interleave_bytes / port.array_bytes);
  }
  return asked;
}

double MemoryTime::of_port(const Port& port) const {
  const double steps = std::floor(outstanding / port.together);
  const double under_way = steps >= 1 ? steps * port.together : outstanding;
  return std::max(port.bursts * std::max(1.0, (latency + 1) / under_way),
                  of_channels(of_array(port)));
}

double MemoryTime::refreshing(const Asked& asked, double cycles, double slack) const {
  const double late = refresh - std::max(0.0, slack);  // that is waited, if at once
  if (refresh_interval <= 0 || late <= 0 || asked.bursts <= 0) return 0;
  const double reached = std::max(1.0, std::min(banks, asked.places));
  // Requests come to a bank at random: the first after the time X, exponentially distributed, waits
  // for late - X.
  const double rate = asked.bursts / cycles / reached;
  const double waits = late + std::expm1(-rate * late) / rate;
  return cycles * reached / refresh_interval * waits;
}

double MemoryTime::reads_in_turn(const Node& node, LevelKind level) {
  if (node.kind == NodeKind::scan) return level == LevelKind::compressed ? 2 : 1;
  return node.kind == NodeKind::locate || node.kind == NodeKind::gallop ? 2 : 1;
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
      return busy + latency * (refs + batches(std::max(refs, node.own.probes), refs));
    case NodeKind::gallop:
      return busy + latency * (node.own.present + node.own.looks);
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
