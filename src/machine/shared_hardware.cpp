#include "machine/shared_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/error.h"

namespace fuseflow {
namespace {

constexpr double kMostPs = 1e12;  ///< more is refused (check.cpp)

/// Sets a constant of cores that is left out; one that is given has to be its share.
template <typename Number>
void share(const Machine& machine, const std::string& key, Number& value, Number its_share,
           const char* of) {
  if (its_share == 0 || value == its_share) return;
  if (value == 0) {
    value = its_share;
    return;
  }
  throw Error(ExitCode::rejected,
              fmt::format("machine `{}`: `{}` is {}, expected {}, the share of `{}`: streams and "
                          "cores have the same hardware; leave it out",
                          machine.name, key, value, its_share, of));
}

/// A bandwidth that is given sets how long a burst is on a channel's bus. Where channels have one
/// rate they take it as it is, in fractions of a cycle (sim/memory/dram.cpp).
void time_bursts(Machine& machine) {
  DramModel& dram = machine.dram;
  if (dram.bandwidth_gigabytes_per_second == 0 || dram.model != "banked") return;
  const double bytes = static_cast<double>(dram.channels) * static_cast<double>(dram.burst_bytes);
  const double ps = std::round(bytes * 1000 / dram.bandwidth_gigabytes_per_second);
  dram.timing.burst_ps = static_cast<int64_t>(std::clamp(ps, 1.0, kMostPs));
}

void share_memory(Machine& machine) {
  const DramModel& dram = machine.dram;
  const double rate = machine.dram_bytes_per_cycle() * machine.clock_gigahertz;
  machine.global.channels = dram.channels;
  machine.global.bandwidth_gigabytes_per_second = dram.bandwidth_gigabytes_per_second;
  if (dram.bandwidth_gigabytes_per_second == 0) {
    machine.global.bandwidth_gigabytes_per_second = rate;
  }
  const bool takes_time = machine.global.bandwidth_gigabytes_per_second > 0;
  machine.global.latency_cycles = takes_time ? dram.latency_cycles : 0;
}

/// A core is at one place of the mesh: it has an even part of the scratchpads and of their links.
void share_scratchpads(Machine& machine) {
  const ScratchpadModel& all = machine.scratchpad;
  CoreModel& core = machine.core;
  const auto per_core = [&](int64_t of) {
    return static_cast<double>(of) / static_cast<double>(core.count);
  };
  share(machine, "core.scratchpad_bytes", core.scratchpad_bytes, all.bytes / core.count,
        "scratchpad.bytes");
  share(machine, "core.scratchpad_bytes_per_cycle", core.scratchpad_bytes_per_cycle,
        per_core(all.bytes_per_cycle), "scratchpad.bytes_per_cycle");
  share(machine, "core.scratchpad_latency_cycles", core.scratchpad_latency_cycles,
        all.latency_cycles, "scratchpad.latency_cycles");
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    const bool alone = kClusterSizes[i] == 1;
    const std::string size = std::to_string(kClusterSizes[i]);
    const auto rate = static_cast<double>(alone ? all.bytes_per_cycle : all.link_bytes_per_cycle);
    share(machine, "links.bandwidth_gigabytes_per_second." + size,
          machine.links.bandwidth_gigabytes_per_second[i], rate * machine.clock_gigahertz,
          alone ? "scratchpad.bytes_per_cycle" : "scratchpad.link_bytes_per_cycle");
    share(machine, "links.latency_cycles." + size, machine.links.latency_cycles[i],
          all.latency_cycles, "scratchpad.latency_cycles");
  }
}

}  // namespace

void share_hardware(Machine& machine) {
  time_bursts(machine);
  if (!machine.has_cores) return;
  share_memory(machine);
  if (machine.has_streams && machine.core.count > 0) share_scratchpads(machine);
}

}  // namespace fuseflow
