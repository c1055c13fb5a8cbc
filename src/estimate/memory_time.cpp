#include "estimate/memory_time.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::estimate {

namespace {

constexpr double kArrayAlignment = 4096;  // bytes; ir-spec/memory.md, "Addresses"

}  // namespace

MemoryTime::MemoryTime(const Machine& machine)
    : timed(machine.dram.model != "none"), batched(machine.dram.model == "comal"), banks(machine) {
  const DramModel& dram = machine.dram;
  burst_bytes = static_cast<double>(std::max<int64_t>(1, dram.burst_bytes));
  outstanding = static_cast<double>(std::max<int64_t>(1, dram.outstanding));
  to_channel_ = static_cast<double>(dram.latency_cycles);
  latency = to_channel_ + banks.latency();
  channels = static_cast<double>(std::max<int64_t>(1, dram.channels));
  interleave_bytes = static_cast<double>(std::max<int64_t>(1, dram.interleave_bytes));
  begin_together = !batched && std::fmod(kArrayAlignment, channels * interleave_bytes) == 0;
  if (timed) cycles_per_burst = channels * burst_bytes / machine.dram_bytes_per_cycle();
}

MemoryTraffic MemoryTime::of_array(const Port& port) const {
  MemoryTraffic asked{port.bursts, banks.met(port), port.bursts / channels};
  if (begin_together && port.array_bytes > 0) {
    // Every `channels`-th piece of the array is in the first one, which has the most.
    const double pieces = std::ceil(port.array_bytes / (channels * interleave_bytes));
    asked.first_channel *=
        std::min(channels, channels * pieces * interleave_bytes / port.array_bytes);
  }
  return asked;
}

/// Bursts of a port that are under way: those of whole steps.
double MemoryTime::under_way(const Port& port) const {
  const double steps = std::floor(outstanding / port.together);
  return steps >= 1 ? steps * port.together : outstanding;
}

/// Cycles from a request to its answer, on average.
double MemoryTime::latency_of(const Port& port) const {
  return to_channel_ + banks.latency(port, under_way(port));
}

double MemoryTime::of_port(const Port& port) const {
  return std::max(port.bursts * std::max(1.0, (latency_of(port) + 1) / under_way(port)),
                  of_channels(of_array(port)));
}

double MemoryTime::refresh_delay(const Port& port, double busy, double cycles) const {
  if (port.bursts <= 0) return 0;
  const double slack = under_way(port) * cycles / port.bursts - (latency_of(port) + 1);
  if (slack >= banks.refresh()) return 0;
  const double sampled = banks.sampled(port, under_way(port), busy);
  if (sampled > 0) return std::max(0.0, sampled - cycles);
  return banks.delay(of_array(port), cycles, slack);
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
