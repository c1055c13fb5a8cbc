#include "machine/keys.h"

#include <string>

namespace fuseflow {
namespace {

// Of memory: sums of its times are picoseconds, a thousand times as many.
constexpr int64_t kMostOfMemory = 1'000'000'000;

/// The sections `core`, `links` and `global` of a machine of cores.
void add_core_keys(Machine& m, std::vector<MachineKey>& keys) {
  keys.push_back({"core.count", &m.core.count});
  keys.push_back({"core.matrix_flops_per_cycle", &m.core.matrix_flops_per_cycle});
  keys.push_back({"core.register_bytes", &m.core.register_bytes});
  keys.push_back({"core.register_bytes_per_cycle", &m.core.register_bytes_per_cycle});
  keys.push_back({"core.scratchpad_bytes", &m.core.scratchpad_bytes});
  keys.push_back({"core.scratchpad_bytes_per_cycle", &m.core.scratchpad_bytes_per_cycle});
  keys.push_back({"core.scratchpad_latency_cycles", &m.core.scratchpad_latency_cycles});
  keys.push_back({"core.matrix_latency_cycles", &m.core.matrix_latency_cycles});
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back({"links.bandwidth_gigabytes_per_second." + std::to_string(kClusterSizes[i]),
                    &m.links.bandwidth_gigabytes_per_second[i]});
  }
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back(
        {"links.latency_cycles." + std::to_string(kClusterSizes[i]), &m.links.latency_cycles[i]});
  }
  keys.push_back(
      {"global.bandwidth_gigabytes_per_second", &m.global.bandwidth_gigabytes_per_second});
  keys.push_back({"global.latency_cycles", &m.global.latency_cycles});
  keys.push_back({"global.channels", &m.global.channels, 1});
  keys.push_back({"global.core_port_bytes_per_cycle", &m.global.core_port_bytes_per_cycle});
}

}  // namespace

MachinePart part_of(std::string_view section) {
  const std::string_view top = section.substr(0, section.find('.'));
  if (top == "units" || top == "block" || top == "scratchpad" || top == "dram") {
    return MachinePart::streams;
  }
  if (top == "core") return MachinePart::cores;
  if (top == "links" || top == "global") return MachinePart::around_cores;
  return MachinePart::common;
}

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
  BlockTiming& block = m.block;
  keys.push_back({"block.lanes", &block.lanes});
  keys.push_back(
      {"block.product_interval_cycles_per_side", &block.product_interval_cycles_per_side});
  keys.push_back({"block.product_latency_cycles_per_side", &block.product_latency_cycles_per_side});
  keys.push_back({"block.elementwise_latency_cycles_per_element",
                  &block.elementwise_latency_cycles_per_element});
  keys.push_back({"block.unary_latency_cycles_per_side", &block.unary_latency_cycles_per_side});
  keys.push_back({"block.load_latency_cycles_per_element", &block.load_latency_cycles_per_element});
  keys.push_back(
      {"block.reduce_latency_cycles_per_element", &block.reduce_latency_cycles_per_element});
  keys.push_back({"scratchpad.bytes", &m.scratchpad.bytes});
  keys.push_back({"scratchpad.bytes_per_cycle", &m.scratchpad.bytes_per_cycle});
  keys.push_back({"scratchpad.tiles", &m.scratchpad.tiles, 1});
  keys.push_back({"scratchpad.link_bytes_per_cycle", &m.scratchpad.link_bytes_per_cycle});
  keys.push_back({"scratchpad.latency_cycles", &m.scratchpad.latency_cycles});
  keys.push_back({"dram.model", &m.dram.model, 0, {"none", "fixed", "banked"}});
  keys.push_back({"dram.channels", &m.dram.channels, 1});
  keys.push_back({"dram.burst_bytes", &m.dram.burst_bytes, 1});
  keys.push_back({"dram.interleave_bytes", &m.dram.interleave_bytes, 1});
  keys.push_back({"dram.outstanding", &m.dram.outstanding, 1});
  keys.push_back({"dram.latency_cycles", &m.dram.latency_cycles, 1});
  keys.push_back({"dram.interval_cycles", &m.dram.interval_cycles, 1});
  keys.push_back({"dram.queue_depth", &m.dram.queue_depth, 1});
  keys.push_back({"dram.most_bypassed", &m.dram.most_bypassed, 1});
  keys.push_back({"dram.bank_groups", &m.dram.bank_groups, 1});
  keys.push_back({"dram.banks_per_group", &m.dram.banks_per_group, 1});
  keys.push_back({"dram.row_bytes", &m.dram.row_bytes, 1});
  DramModel::Timing& t = m.dram.timing;
  keys.push_back({"dram.timing.burst_ps", &t.burst_ps, 1});
  keys.push_back({"dram.timing.same_group_ps", &t.same_group_ps, 1});
  keys.push_back({"dram.timing.read_latency_ps", &t.read_latency_ps, 1});
  keys.push_back({"dram.timing.write_latency_ps", &t.write_latency_ps, 1});
  keys.push_back({"dram.timing.row_to_column_ps", &t.row_to_column_ps, 1});
  keys.push_back({"dram.timing.precharge_ps", &t.precharge_ps, 1});
  keys.push_back({"dram.timing.row_active_ps", &t.row_active_ps, 1});
  keys.push_back({"dram.timing.read_to_precharge_ps", &t.read_to_precharge_ps, 1});
  keys.push_back({"dram.timing.write_recovery_ps", &t.write_recovery_ps, 1});
  keys.push_back({"dram.timing.write_to_read_ps", &t.write_to_read_ps, 1});
  keys.push_back({"dram.timing.activate_to_activate_ps", &t.activate_to_activate_ps, 1});
  keys.push_back({"dram.timing.four_activations_ps", &t.four_activations_ps, 1});
  keys.push_back({"dram.timing.refresh_interval_ps", &t.refresh_interval_ps, 1});
  keys.push_back({"dram.timing.refresh_ps", &t.refresh_ps, 1});
  for (MachineKey& key : keys) {
    if (key.name.starts_with("dram.")) key.most = kMostOfMemory;
  }
  add_core_keys(m, keys);
  return keys;
}

}  // namespace fuseflow
