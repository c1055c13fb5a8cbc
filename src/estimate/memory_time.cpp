#include "estimate/memory_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "estimate/stored_arrays.h"

namespace fuseflow::estimate {

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

double ChannelBursts::most() const {
  std::vector<std::pair<double, double>> changes = changes_;
  std::sort(changes.begin(), changes.end());
  double most = 0;
  double here = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    here += changes[i].second;
    if (i + 1 == changes.size() || changes[i + 1].first > changes[i].first) {
      most = std::max(most, here);
    }
  }
  return most;
}

MemoryTraffic MemoryTime::of_array(const Port& port) const {
  MemoryTraffic asked{port.bursts, banks.met(port), port.bursts / channels, {}};
  if (batched || port.array_bytes <= 0) return asked;
  const double per_byte = port.bursts / port.array_bytes;
  const double round = channels * interleave_bytes;
  const double rounds = std::floor(port.array_bytes / round);
  const double rest = port.array_bytes - rounds * round;
  asked.of_each = per_byte * rounds * interleave_bytes;
  if (begin_together) {  // the channel in which all arrays begin has most of each
    asked.of_each += per_byte * std::min(rest, interleave_bytes);
  } else {
    spread(std::fmod(port.begin, round), rest, per_byte, asked.more);
  }
  return asked;
}

/// The channels of a piece of an array that is shorter than a round through all of them.
void MemoryTime::spread(double begin, double bytes, double per_byte, ChannelBursts& bursts) const {
  while (bytes > 0) {
    const double channel = std::floor(begin / interleave_bytes);
    double number = 1;
    double piece = std::min(bytes, (channel + 1) * interleave_bytes - begin);
    if (piece == interleave_bytes) {  // as many whole ones as follow, to the last channel
      number = std::min(std::floor(bytes / interleave_bytes), channels - channel);
    }
    bursts.add(channel, channel + number, piece * per_byte);
    bytes -= number * piece;
    begin = channel + number >= channels ? 0 : begin + number * piece;
  }
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
  const double turn = std::max(in_turn(port), of_look_ups(port));
  const double each = std::max({1.0, (latency_of(port) + 1) / under_way(port), turn});
  return std::max(port.bursts * each, of_channels(of_array(port)));
}

/// Cycles of a burst where those under way jump to the same channels: of the first ones, the share
/// of the channel that has most.
double MemoryTime::in_turn(const Port& port) const {
  constexpr double kMost = 256;
  if (batched || port.order.loops.empty()) return 0;
  const double number = std::min({kMost, outstanding, port.bursts});
  std::map<uint64_t, double> of_channel;
  double most = 0;
  AddressWalk walk(port.order, burst_bytes);
  for (double burst = 0; burst < number; ++burst) {
    const double address = port.begin + static_cast<double>(walk.next()) * burst_bytes;
    const auto channel =
        static_cast<uint64_t>(std::fmod(std::floor(address / interleave_bytes), channels));
    most = std::max(most, ++of_channel[channel]);
  }
  return most / number * cycles_per_burst;
}

/// Cycles of a burst where those under way are of searches in few fibers: each search begins in the
/// middle of its fiber, in the channel of which its other probes lie with the share that it has of
/// the fiber.
double MemoryTime::of_look_ups(const Port& port) const {
  if (batched || port.search.bursts <= 0) return 0;
  const double fiber = std::max(burst_bytes, port.search.fiber_bytes);
  const double middle = 1 - (port.search.bursts > 1 ? burst_bytes / fiber : 0);
  const double share = std::min(1.0, interleave_bytes / fiber);
  const double most = middle + (port.search.bursts - 1) * share;
  const double fibers = outstanding / port.search.bursts / port.search.in_fiber;
  return most / port.search.bursts / std::max(1.0, fibers) * cycles_per_burst;
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
    default:
      return of_scan_in_batches(node, busy);
  }
}

/// The elements of a list take no step of their own; of bit vectors the words are read at first.
double MemoryTime::of_scan_in_batches(const NodeNumbers& node, double busy) const {
  constexpr double kWord = 8;  // bytes of a word of bits
  const double refs = node.own.present;
  if (node.level == LevelKind::bitvector) {
    const double requests = refs + std::ceil(kWord / burst_bytes) * node.own.words;
    return busy + latency * batches(requests, refs);
  }
  const SpaceCount& given = node.output(0);
  const double positions = node.level == LevelKind::singleton ? 0 : latency;
  return (positions + 1) * refs + latency * batches(given.elements, given.nonempty);
}

}  // namespace fuseflow::estimate
