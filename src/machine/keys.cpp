#include "machine/keys.h"

namespace fuseflow {

std::vector<MachineKey> machine_keys(Machine& m) {
  std::vector<MachineKey> keys = {
      {"name", &m.name},
      {"description", &m.description},
      {"clock_gigahertz", &m.clock_gigahertz, 1e-6},
      {"fifo_depth", &m.fifo_depth},
      {"reconfiguration_cycles", &m.reconfiguration_cycles},
      {"accumulate_drain_interval_cycles", &m.accumulate_drain_interval_cycles},
      {"phases_hold_units_together", &m.phases_hold_units_together},
  };
  for (int u = 0; u < kUnitClasses; ++u) {
    const auto unit = static_cast<UnitClass>(u);
    const std::string section = "units." + std::string(unit_class_name(unit)) + ".";
    UnitTiming& timing = m.timing(unit);
    keys.push_back({section + "latency_cycles", &timing.latency_cycles, 1});
    keys.push_back({section + "interval_cycles", &timing.interval_cycles, 1});
    keys.push_back({section + "count", &timing.count});
  }
  keys.push_back({"scratchpad.bytes", &m.scratchpad.bytes});
  keys.push_back({"scratchpad.bytes_per_cycle", &m.scratchpad.bytes_per_cycle});
  keys.push_back({"dram.model", &m.dram.model, 0, {"none"}});
  keys.push_back({"dram.channels", &m.dram.channels, 1});
  keys.push_back({"dram.burst_bytes", &m.dram.burst_bytes, 1});
  return keys;
}

}  // namespace fuseflow
