#include "machine/keys.h"

#include <iterator>
#include <string>

namespace fuseflow {
namespace {

// The largest value of a time of memory: sums of these are picoseconds, a thousand times as many.
constexpr int64_t kMostOfMemory = 1'000'000'000;
// The largest number of parts of memory (channels, banks), each of which takes room while it is
// simulated.
constexpr int64_t kMostMade = 65'536;

std::vector<MachineKey> common_keys(Machine& m) {
  return {
      {"name", &m.name, "in reports"},
      {"description", &m.description, "one line for --list-machines"},
      {"clock_gigahertz", &m.clock_gigahertz,
       "converts cycles to time, and rates in gigabytes per second to bytes per cycle", 1e-6},
      {"fifo_depth", &m.fifo_depth,
       "tokens that a stream holds for each consumer; 0: unbounded. Below 2 most graphs deadlock"},
      {"reconfiguration_cycles", &m.reconfiguration_cycles, "between two regions"},
      {"accumulate_drain_interval_cycles", &m.accumulate_drain_interval_cycles,
       "between two entries of an accumulator's flush; 0: all in one cycle"},
      {"accumulate_outer_stops_take_steps", &m.accumulate_outer_stops_take_steps,
       "whether an accumulator takes each outer stop in a step of its own, after the inner stop"},
      {"accumulate_double_buffered", &m.accumulate_double_buffered,
       "whether an accumulator has two stores, one of which is drained while the other is filled"},
      {"write_stops_take_steps", &m.write_stops_take_steps,
       "whether a writer takes a stop in a step that costs its interval, or for nothing"},
      {"phases_hold_units_together", &m.phases_hold_units_together,
       "whether the phases of a region need their units at the same time, or in turn"},
  };
}

std::vector<MachineKey> unit_keys(Machine& m) {
  std::vector<MachineKey> keys;
  for (int u = 0; u < kUnitClasses; ++u) {
    const auto unit = static_cast<UnitClass>(u);
    const std::string section = "units." + std::string(unit_class_name(unit)) + ".";
    UnitTiming& timing = m.timing(unit);
    keys.push_back({section + "latency_cycles", &timing.latency_cycles,
                    "from a step to the arrival of what it gives", 1});
    keys.push_back({section + "interval_cycles", &timing.interval_cycles, "between two steps", 1});
    keys.push_back({section + "count", &timing.count, "units on the machine; 0: no limit"});
  }
  return keys;
}

std::vector<MachineKey> operator_keys(Machine& m) {
  std::vector<MachineKey> keys;
  for (int c = 0; c < kOperatorClasses; ++c) {
    const auto which = static_cast<OperatorClass>(c);
    const std::string section = "operators." + std::string(operator_class_name(which)) + ".";
    OperatorTiming& timing = m.operators[static_cast<size_t>(c)];
    keys.push_back({section + "latency_cycles", &timing.latency_cycles,
                    "of a `map` with such an operator; 0: that of `units.alu`"});
    keys.push_back({section + "interval_cycles", &timing.interval_cycles,
                    "between two of its steps; 0: that of `units.alu`"});
  }
  return keys;
}

std::vector<MachineKey> block_keys(Machine& m) {
  return {
      {"block.lanes", &m.block.lanes,
       "elements of a block that a unit works on in a cycle; 0: a whole block"},
      {"block.product_interval_cycles_per_side", &m.block.product_interval_cycles_per_side,
       "between two products of blocks in the matrix unit"},
      {"block.product_latency_cycles_per_side", &m.block.product_latency_cycles_per_side,
       "of such a product"},
      {"block.elementwise_latency_cycles_per_element",
       &m.block.elementwise_latency_cycles_per_element,
       "of a step of `map` on blocks, but products and functions of one block"},
      {"block.unary_latency_cycles_per_side", &m.block.unary_latency_cycles_per_side,
       "of a function of one block"},
      {"block.load_latency_cycles_per_element", &m.block.load_latency_cycles_per_element,
       "of a block that `array` reads"},
      {"block.reduce_latency_cycles_per_element", &m.block.reduce_latency_cycles_per_element,
       "of a step of `reduce` or `accumulate` on blocks"},
  };
}

std::vector<MachineKey> scratchpad_keys(Machine& m) {
  return {
      {"scratchpad.bytes", &m.scratchpad.bytes, "capacity, all together; 0: no limit"},
      {"scratchpad.bytes_per_cycle", &m.scratchpad.bytes_per_cycle,
       "of all scratchpads together; 0: no limit"},
      {"scratchpad.tiles", &m.scratchpad.tiles,
       "linked scratchpads, over which each tensor is spread", 1},
      {"scratchpad.link_bytes_per_cycle", &m.scratchpad.link_bytes_per_cycle,
       "of all links together; 0: no limit"},
      {"scratchpad.latency_cycles", &m.scratchpad.latency_cycles,
       "of an access, beyond the unit's latency"},
  };
}

std::vector<MachineKey> dram_keys(Machine& m) {
  std::vector<MachineKey> keys = {
      {"dram.model",
       &m.dram.model,
       "none: bytes are counted and cost no time; fixed: channels of one rate; banked: DRAM; "
       "comal: "
       "asked in batches, as Comal's",
       0,
       {"none", "fixed", "banked", "comal"}},
      {"dram.channels", &m.dram.channels, "that work side by side", 1},
      {"dram.bandwidth_gigabytes_per_second", &m.dram.bandwidth_gigabytes_per_second,
       "of all channels together; 0: what the channels' keys give"},
      {"dram.burst_bytes", &m.dram.burst_bytes, "of a request", 1},
      {"dram.interleave_bytes", &m.dram.interleave_bytes, "consecutive bytes in one channel", 1},
      {"dram.outstanding", &m.dram.outstanding,
       "bursts that a port may have requested and not yet used; comal: addresses of a batch", 1},
      {"dram.latency_cycles", &m.dram.latency_cycles,
       "fixed, comal: from start to answer; banked: from the request to the channel's queue", 1},
      {"dram.interval_cycles", &m.dram.interval_cycles,
       "fixed, comal: between two bursts of a channel", 1},
      {"dram.queue_depth", &m.dram.queue_depth, "banked: requests among which a channel chooses",
       1},
      {"dram.most_bypassed", &m.dram.most_bypassed,
       "banked: how often the oldest request may be passed over", 1},
      {"dram.bank_groups", &m.dram.bank_groups, "banked: of a channel", 1},
      {"dram.banks_per_group", &m.dram.banks_per_group, "banked", 1},
      {"dram.row_bytes", &m.dram.row_bytes, "banked: of a row of one bank; whole bursts", 1},
      {"dram.timing.burst_ps", &m.dram.timing.burst_ps, "a burst on the data bus", 1},
      {"dram.timing.same_group_ps", &m.dram.timing.same_group_ps,
       "column commands to one bank group [tCCD_L]", 1},
      {"dram.timing.read_latency_ps", &m.dram.timing.read_latency_ps,
       "from the command to the data [CL]", 1},
      {"dram.timing.write_latency_ps", &m.dram.timing.write_latency_ps,
       "from the command to the data [CWL]", 1},
      {"dram.timing.row_to_column_ps", &m.dram.timing.row_to_column_ps,
       "from an activation to a column command [tRCD]", 1},
      {"dram.timing.precharge_ps", &m.dram.timing.precharge_ps, "closing a row [tRP]", 1},
      {"dram.timing.row_active_ps", &m.dram.timing.row_active_ps,
       "from an activation to the precharge [tRAS]", 1},
      {"dram.timing.read_to_precharge_ps", &m.dram.timing.read_to_precharge_ps, "[tRTP]", 1},
      {"dram.timing.write_recovery_ps", &m.dram.timing.write_recovery_ps,
       "from the data to the precharge [tWR]", 1},
      {"dram.timing.write_to_read_ps", &m.dram.timing.write_to_read_ps,
       "from the data to the command [tWTR_L]", 1},
      {"dram.timing.activate_to_activate_ps", &m.dram.timing.activate_to_activate_ps,
       "of different banks [tRRD_S]", 1},
      {"dram.timing.four_activations_ps", &m.dram.timing.four_activations_ps,
       "in which at most four banks are activated [tFAW]", 1},
      {"dram.timing.refresh_interval_ps", &m.dram.timing.refresh_interval_ps,
       "of every bank [tREFI]", 1},
      {"dram.timing.refresh_ps", &m.dram.timing.refresh_ps, "of one bank [tRFCpb]", 1},
  };
  for (MachineKey& key : keys) {
    const bool made = key.name == "dram.channels" || key.name == "dram.bank_groups" ||
                      key.name == "dram.banks_per_group";
    key.most = made ? kMostMade : kMostOfMemory;
  }
  return keys;
}

std::vector<MachineKey> core_keys(Machine& m) {
  std::vector<MachineKey> keys = {
      {"core.count", &m.core.count,
       "cores; 0: all clusters run at a time, each operation takes a cycle"},
      {"core.matrix_flops_per_cycle", &m.core.matrix_flops_per_cycle,
       "of a core's matrix unit on elements of 2 bytes"},
      {"core.register_bytes", &m.core.register_bytes, "of a core"},
      {"core.register_bytes_per_cycle", &m.core.register_bytes_per_cycle, "of a core"},
      {"core.scratchpad_bytes", &m.core.scratchpad_bytes, "of a core"},
      {"core.scratchpad_bytes_per_cycle", &m.core.scratchpad_bytes_per_cycle,
       "of a core; reads and writes together"},
      {"core.scratchpad_latency_cycles", &m.core.scratchpad_latency_cycles, "of an access"},
      {"core.matrix_latency_cycles", &m.core.matrix_latency_cycles, "of a product of tiles"},
      {"core.barrier_cycles", &m.core.barrier_cycles,
       "from when a tile is in the scratchpad until those that wait for it on the core go on"},
      {"core.port_bytes_per_cycle", &m.core.port_bytes_per_cycle,
       "what a core can read from memory and write; 0: no limit"},
      {"core.vector_operations_per_cycle", &m.core.vector_operations_per_cycle,
       "sums and products of elements on a core; 0: free"},
      {"core.comparison_rate_share",
       &m.core.comparison_rate_share,
       "of `core.vector_operations_per_cycle`, for comparisons, maxima and choices",
       1e-3,
       {},
       1},
      {"core.special_operations_per_cycle", &m.core.special_operations_per_cycle,
       "divisions, roots, exponentials and the like on a core; 0: free"},
      {"core.matrix_type_of_f32", &m.core.matrix_type_of_f32,
       "in which products of f32 are multiplied at their rate, if not in f32; named in a note"},
  };
  for (size_t i = 0; i < kOtherElementBytes.size(); ++i) {
    keys.push_back(
        {"core.matrix_flops_per_cycle_of_bytes." + std::to_string(kOtherElementBytes[i]),
         &m.core.matrix_flops_per_cycle_of_bytes[i],
         "on elements of so many bytes; 0: `core.matrix_flops_per_cycle`, halved where an element "
         "is twice as large"});
  }
  return keys;
}

/// Extents of instructions are small; larger ones would only make sums of products overflow.
constexpr int64_t kMostOfAShape = 4096;

std::vector<MachineKey> matrix_keys(Machine& m) {
  std::vector<MachineKey> keys;
  for (size_t i = 0; i < kMatrixShapes; ++i) {
    const std::string section = "core.matrix_shapes." + std::to_string(i + 1) + ".";
    MatrixShape& shape = m.core.matrix_shapes[i];
    keys.push_back({section + "rows", &shape.rows,
                    "of the least product of a family of instructions, or its columns; 0: none"});
    keys.push_back({section + "columns", &shape.columns, "... or its rows"});
    keys.push_back({section + "depth", &shape.depth, "on elements of 2 bytes; of 4 bytes half"});
    for (size_t k = keys.size() - 3; k < keys.size(); ++k) keys[k].most = kMostOfAShape;
    keys.push_back({section + "rate_share",
                    &shape.rate_share,
                    "of `core.matrix_flops_per_cycle`",
                    1e-3,
                    {},
                    1});
  }
  return keys;
}

std::vector<MachineKey> link_keys(Machine& m) {
  std::vector<MachineKey> keys;
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back({"links.bandwidth_gigabytes_per_second." + std::to_string(kClusterSizes[i]),
                    &m.links.bandwidth_gigabytes_per_second[i],
                    "links of all cores together, in clusters of so many cores"});
  }
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back({"links.latency_cycles." + std::to_string(kClusterSizes[i]),
                    &m.links.latency_cycles[i], "of a message between cores of such a cluster"});
  }
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back({"links.barrier_cycles." + std::to_string(kClusterSizes[i]),
                    &m.links.barrier_cycles[i],
                    "from when a core has room until another core of such a cluster knows"});
  }
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    keys.push_back({"links.most_cores." + std::to_string(kClusterSizes[i]), &m.links.most_cores[i],
                    "that clusters of so many cores can fill; 0: all"});
  }
  keys.push_back({"links.multicast", &m.links.multicast,
                  "whether a tile that cores of a cluster load together is read once for them"});
  return keys;
}

std::vector<MachineKey> l2_keys(Machine& m) {
  return {
      {"l2.capacity_bytes", &m.l2.capacity_bytes,
       "of a cache between the cores and global memory; 0: there is none"},
      {"l2.bytes_per_cycle", &m.l2.bytes_per_cycle, "of all cores together; 0: no limit"},
      {"l2.latency_cycles", &m.l2.latency_cycles, "of a tile that it holds"},
      {"l2.store_bytes_per_cycle", &m.l2.store_bytes_per_cycle,
       "of what all cores together store; 0: `l2.bytes_per_cycle`"},
      {"l2.add_bytes_per_cycle", &m.l2.add_bytes_per_cycle,
       "of what they add to results in memory; 0: `l2.store_bytes_per_cycle`"},
  };
}

/// No price or size is near this; it keeps sums of energies finite.
constexpr int64_t kMostPrice = 1'000'000'000'000;

std::vector<MachineKey> energy_keys(Machine& m) {
  EnergyModel& e = m.energy;
  std::vector<MachineKey> keys = {
      {"energy.fifo_pj_per_word", &e.fifo_pj_per_word, "4 bytes into a FIFO and out of it"},
      {"energy.buffer_pj_per_byte", &e.buffer_pj_per_byte,
       "read or written in a buffer, or of an accumulator's entries"},
      {"energy.scratchpad_pj_per_byte", &e.scratchpad_pj_per_byte, "read or written"},
      {"energy.link_pj_per_byte", &e.link_pj_per_byte, "between scratchpads"},
      {"energy.register_pj_per_byte", &e.register_pj_per_byte, "of cores"},
      {"energy.dram_burst_pj", &e.dram_burst_pj, "of `dram.burst_bytes`, to or from memory"},
      {"energy.dram_activation_pj", &e.dram_activation_pj, "of a row"},
      {"energy.dram_activations_per_burst", &e.dram_activations_per_burst,
       "where the model of memory does not count rows (all but `banked`)"},
      {"energy.leakage_pj_per_cycle", &e.leakage_pj_per_cycle, "of the machine, whatever it does"},
      {"energy.leakage_pj_per_cycle_per_mm2", &e.leakage_pj_per_cycle_per_mm2,
       "more, by the machine's area"},
  };
  for (size_t u = 0; u < e.step_pj.size(); ++u) {
    keys.push_back({"energy.step_pj." + std::string(unit_class_name(static_cast<UnitClass>(u))),
                    &e.step_pj[u], "a step of a unit, without operators, FIFOs and memory"});
  }
  for (size_t w = 0; w < kWidths; ++w) {
    for (size_t a = 0; a < kArithmetics; ++a) {
      const auto name = arithmetic_name(static_cast<Arithmetic>(a), static_cast<Width>(w));
      keys.push_back({"energy.operator_pj." + std::string(name), &e.operator_pj[a][w],
                      "an operation on values of so many bits"});
    }
  }
  for (MachineKey& key : keys) key.most = kMostPrice;
  return keys;
}

std::vector<MachineKey> area_keys(Machine& m) {
  std::vector<MachineKey> keys = {
      {"area.scratchpad_um2_per_byte", &m.area.scratchpad_um2_per_byte,
       "of scratchpads, buffers and accumulators' entries"},
      {"area.core_um2", &m.area.core_um2, "of a core with its registers and scratchpad"},
  };
  for (size_t u = 0; u < m.area.unit_um2.size(); ++u) {
    keys.push_back({"area.unit_um2." + std::string(unit_class_name(static_cast<UnitClass>(u))),
                    &m.area.unit_um2[u], "of a unit with the FIFOs at its inputs"});
  }
  for (MachineKey& key : keys) key.most = kMostPrice;
  return keys;
}

}  // namespace

MachinePart part_of(std::string_view section) {
  const std::string_view top = section.substr(0, section.find('.'));
  if (top == "units" || top == "operators" || top == "block" || top == "scratchpad") {
    return MachinePart::streams;
  }
  if (top == "core") return MachinePart::cores;
  if (top == "links" || top == "l2") return MachinePart::around_cores;
  if (top == "energy") return MachinePart::energy;
  if (top == "area") return MachinePart::area;
  return MachinePart::common;
}

std::vector<MachineKey> machine_keys(Machine& m) {
  std::vector<MachineKey> keys;
  for (const auto& section :
       {common_keys, unit_keys, operator_keys, block_keys, scratchpad_keys, dram_keys, core_keys,
        matrix_keys, link_keys, l2_keys, energy_keys, area_keys}) {
    std::vector<MachineKey> some = section(m);
    std::move(some.begin(), some.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace fuseflow
