// A machine: the constants that turn what a graph does into cycles. Pure data, filled from TOML
// (machine/load.h); what each constant means for timing is in ir-spec/timing.md, the keys and units
// in ir-spec/machines.md. Knows nodes by class, not graphs or programs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fuseflow {

/// Hardware units as the machine sees them: the node kinds that share one latency, interval and
/// count.
enum class UnitClass : uint8_t {
  root,
  scan,
  locate,
  repeat,
  join,  ///< intersect, unite, leftjoin
  array,
  alu,  ///< map, coordinate
  reduce,
  accumulate,
  filter,  ///< drop, filter
  buffer,
  write,
  split,  ///< parallelize, serialize
  count_
};
inline constexpr int kUnitClasses = static_cast<int>(UnitClass::count_);
std::string_view unit_class_name(UnitClass unit);

struct UnitTiming {
  int64_t latency_cycles = 1;   ///< >= 1: a token given at t arrives at t + latency
  int64_t interval_cycles = 1;  ///< >= 1: least distance of two steps
  int64_t count = 0;            ///< units of the class on the machine; 0: unlimited
};

/// The memory behind `dram_*_bytes`. `model` none charges no time, whatever the other numbers.
struct DramModel {
  std::string model = "none";
  int64_t channels = 1;
  int64_t burst_bytes = 64;
};

struct ScratchpadModel {
  int64_t bytes = 0;            ///< capacity; 0: unlimited
  int64_t bytes_per_cycle = 0;  ///< 0: unlimited
};

struct Machine {
  std::string name = "ideal";
  std::string description;
  double clock_gigahertz = 1;
  int64_t fifo_depth = 0;              ///< tokens a stream holds for each consumer; 0: unbounded
  int64_t reconfiguration_cycles = 0;  ///< between regions
  int64_t accumulate_drain_interval_cycles = 1;  ///< between two entries of a flush; 0: all at once
  std::array<UnitTiming, kUnitClasses> units{};
  bool phases_hold_units_together = false;  ///< else the phases of a region have them in turn
  ScratchpadModel scratchpad;
  DramModel dram;

  const UnitTiming& timing(UnitClass unit) const { return units[static_cast<size_t>(unit)]; }
  UnitTiming& timing(UnitClass unit) { return units[static_cast<size_t>(unit)]; }
};

}  // namespace fuseflow
