#include "sim/common/conversion.h"

#include <algorithm>
#include <cmath>

#include "support/ceil_div.h"
#include "support/latest.h"

namespace fuseflow {

namespace {

/// One pass over the data.
struct ConversionPass {
  double steps = 0;
  double read_bytes = 0;  ///< from memory
  double write_bytes = 0;
  double chip_read_bytes = 0;  ///< counters of a sort
  double chip_write_bytes = 0;
};

constexpr double kConversionWord = 4;  // bytes of a coordinate, position or counter

bool levels_are_dense(const Format& format) {
  return std::all_of(format.levels.begin(), format.levels.end(),
                     [](LevelKind kind) { return kind == LevelKind::dense; });
}

/// Stored values, of blocks the blocks.
double entries_of(const ConversionSide& side) {
  return side.arrays.values / stored_value_bytes(side.tensor);
}

/// Steps that a stored value takes: units that work inside of blocks take a block at their lanes.
double steps_of_value(const Format& format, const Machine& machine) {
  if (machine.block.lanes == 0) return 1;
  return static_cast<double>(ceil_div(format.block_volume(), machine.block.lanes));
}

/// Entries of a sort as it leaves them for the next one: all coordinates and the value.
double tuple_bytes(const ConversionSide& from) {
  return kConversionWord * from.tensor.format.rank() + stored_value_bytes(from.tensor);
}

/// Stable counting sorts, the first by the innermost dimension that is out of order.
class Sorts {
 public:
  Sorts(const ConversionSide& from, const ConversionSide& to, const Machine& machine)
      : from_(from), to_(to), machine_(machine), entries_(entries_of(from)) {}

  void add(int dimension, bool first, bool last, std::vector<ConversionPass>& passes) const {
    const double keys = static_cast<double>(from_.tensor.format.coordinates(
        static_cast<size_t>(dimension), from_.tensor.shape[dimension].value));
    const double times = ranges(keys);
    const double steps = times * entries_ * steps_of_value(from_.tensor.format, machine_);
    const double tuples = entries_ * tuple_bytes(from_);
    const double touched = kConversionWord * entries_;  // a counter an entry
    const double read = first ? from_.arrays.total() : tuples;
    const double key_bytes = first ? bytes_of_level(dimension) : touched;
    const double written = last ? to_.arrays.total() : tuples;
    passes.push_back({steps, times * key_bytes, 0, touched, touched});
    passes.push_back({keys, 0, 0, kConversionWord * keys, kConversionWord * keys});
    passes.push_back({steps, times * read, written, touched, touched});
  }

 private:
  /// How often the data is gone through: a counter and the burst that is being filled, of
  /// coordinates and of values, are on chip for each key of a range.
  double ranges(double keys) const {
    if (machine_.scratchpad.bytes == 0) return 1;
    const auto burst = static_cast<double>(machine_.dram.burst_bytes);
    const double bytes = keys * (kConversionWord + 2 * burst);
    return std::max(1.0, std::ceil(bytes / static_cast<double>(machine_.scratchpad.bytes)));
  }

  /// What is read to know an entry's coordinate in this dimension.
  double bytes_of_level(int dimension) const {
    const std::vector<int>& modes = from_.tensor.format.mode_order;
    const auto level = std::find(modes.begin(), modes.end(), dimension) - modes.begin();
    const StoredArrays::Level& arrays = from_.arrays.levels[level];
    return arrays.positions + arrays.coordinates;
  }

  const ConversionSide& from_;
  const ConversionSide& to_;
  const Machine& machine_;
  const double entries_;
};

double rate_of_memory(const Machine& machine) {
  return machine.has_streams ? machine.dram_bytes_per_cycle() : machine.global_bytes_per_cycle();
}

double latency_of(const ConversionPass& pass, const Machine& machine) {
  double latency = static_cast<double>(machine.timing(UnitClass::write).latency_cycles);
  if (!machine.has_streams) {
    latency += static_cast<double>(machine.global.latency_cycles);
  } else if (machine.dram.model != "none" && pass.read_bytes + pass.write_bytes > 0) {
    latency += static_cast<double>(machine.dram.latency_cycles);
  }
  if (pass.chip_write_bytes > 0) {
    latency += static_cast<double>(machine.scratchpad.latency_cycles);
  }
  return latency;
}

/// On a machine of cores alone no unit takes the steps: its cores share them, memory bounds them.
double busy_cycles(const ConversionPass& pass, const Machine& machine) {
  if (!machine.has_streams) return 0;
  return pass.steps * static_cast<double>(machine.timing(UnitClass::write).interval_cycles);
}

/// The passes that make `to` of `from`, in their order.
std::vector<ConversionPass> conversion_passes(const ConversionSide& from, const ConversionSide& to,
                                              const Machine& machine) {
  std::vector<ConversionPass> passes;
  const std::vector<int> keys = sorted_dimensions(from.tensor.format, to.tensor.format);
  const Sorts sorts(from, to, machine);
  for (size_t k = 0; k < keys.size(); ++k) {
    sorts.add(keys[k], k == 0, k + 1 == keys.size(), passes);
  }
  if (!passes.empty()) return passes;
  const double steps = entries_of(from) * steps_of_value(from.tensor.format, machine);
  return {{steps, from.arrays.total(), to.arrays.total(), 0, 0}};
}

/// Cycles that a pass takes, its latency included.
double pass_cycles(const ConversionPass& pass, const Machine& machine) {
  double cycles = busy_cycles(pass, machine);
  const double rate = rate_of_memory(machine);
  if (rate > 0) cycles = std::max(cycles, (pass.read_bytes + pass.write_bytes) / rate);
  const auto chip = static_cast<double>(machine.scratchpad.bytes_per_cycle);
  if (chip > 0) cycles = std::max(cycles, (pass.chip_read_bytes + pass.chip_write_bytes) / chip);
  return std::ceil(cycles) + latency_of(pass, machine);
}

}  // namespace

std::vector<int> sorted_dimensions(const Format& from, const Format& to) {
  if (levels_are_dense(from)) return {};
  const auto level_in_source = [&](int dimension) {
    return std::find(from.mode_order.begin(), from.mode_order.end(), dimension);
  };
  size_t sorted = to.mode_order.size();  // levels from here on are in the order of the source
  while (sorted > 0) {
    const bool innermost = sorted == to.mode_order.size();
    const bool before = innermost || level_in_source(to.mode_order[sorted - 1]) <
                                         level_in_source(to.mode_order[sorted]);
    if (!before) break;
    --sorted;
  }
  std::vector<int> dimensions(to.mode_order.begin(),
                              to.mode_order.begin() + static_cast<std::ptrdiff_t>(sorted));
  std::reverse(dimensions.begin(), dimensions.end());
  return dimensions;
}

RunResult conversion_counts(const ConversionSide& from, const ConversionSide& to,
                            const Machine& machine) {
  RunResult result;
  NodeStats node;
  double cycles = 0;
  double busy = 0;
  ConversionPass sum;
  for (const ConversionPass& pass : conversion_passes(from, to, machine)) {
    cycles += pass_cycles(pass, machine);
    busy += busy_cycles(pass, machine);
    sum.steps += pass.steps;
    sum.read_bytes += pass.read_bytes;
    sum.write_bytes += pass.write_bytes;
    sum.chip_read_bytes += pass.chip_read_bytes;
    sum.chip_write_bytes += pass.chip_write_bytes;
  }
  result.cycles = capped_round(cycles);
  result.dram_read_bytes = node.read_bytes = std::llround(sum.read_bytes);
  result.dram_write_bytes = node.write_bytes = std::llround(sum.write_bytes);
  result.scratchpad_read_bytes = std::llround(sum.chip_read_bytes);
  result.scratchpad_write_bytes = std::llround(sum.chip_write_bytes);
  const auto tiles = static_cast<double>(machine.scratchpad.tiles);
  result.link_bytes =
      std::llround((sum.chip_read_bytes + sum.chip_write_bytes) * (tiles - 1) / tiles);
  node.tile_scratchpad_read_bytes = result.scratchpad_read_bytes;
  node.tile_scratchpad_write_bytes = result.scratchpad_write_bytes;
  node.steps = capped_round(sum.steps);
  node.busy = std::min<int64_t>(result.cycles, capped_round(busy));
  node.starved = result.cycles - node.busy;
  if (node.steps > 0) {
    node.first_step = 0;
    node.last_step = result.cycles - 1;
  }
  if (machine.dram.model != "none") {
    const int64_t bytes = result.dram_read_bytes + result.dram_write_bytes;
    result.dram_bursts = ceil_div(bytes, machine.dram.burst_bytes);
    // One row after the other.
    const bool banked = machine.dram.model == "banked";
    const int64_t rows = banked ? ceil_div(bytes, machine.dram.row_bytes) : 0;
    result.memory_row_hits = std::max<int64_t>(0, result.dram_bursts - rows);
  }
  result.nodes.push_back(node);
  return result;
}

}  // namespace fuseflow
