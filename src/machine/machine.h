// A machine: the constants that turn what a graph does into cycles. Pure data, filled from TOML
// (machine/load.h); what each constant means for timing is in ir-spec/timing.md, the keys and units
// in ir-spec/machines.md. Knows nodes by class, not graphs or programs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "machine/energy_model.h"
#include "machine/unit_class.h"
#include "support/value_type.h"

namespace fuseflow {

struct UnitTiming {
  int64_t latency_cycles = 1;   ///< >= 1: a token given at t arrives at t + latency
  int64_t interval_cycles = 1;  ///< >= 1: least distance of two steps
  int64_t count = 0;            ///< units of the class on the machine; 0: unlimited
};

/// The memory whose bytes `dram_*_bytes` count. `model`: `none` charges no time, whatever the other
/// numbers; `fixed` is channels of a fixed latency and rate; `banked` is DRAM; `comal` is asked in
/// batches. Meaning: ir-spec/memory.md. The defaults of the banked model are an HBM2e stack: 16
/// pseudo-channels of 25.6 GB/s.
struct DramModel {
  std::string model = "none";
  int64_t channels = 16;
  /// The rate of all channels together; 0: what `model` gives. For machines of cores alone, whose
  /// tiles ask for whole transfers.
  double bandwidth_gigabytes_per_second = 0;
  int64_t burst_bytes = 64;
  int64_t interleave_bytes = 256;  ///< consecutive bytes in one channel; a multiple of burst_bytes
  /// Bursts that a port may have requested and not yet used; comal: addresses of a batch.
  int64_t outstanding = 64;
  int64_t latency_cycles = 40;  ///< fixed, comal: to the answer; banked: to the channel's queue
  int64_t interval_cycles = 2;  ///< fixed, comal: between two bursts of a channel
  int64_t queue_depth = 32;     ///< banked: requests among which a channel chooses
  int64_t most_bypassed = 64;   ///< banked: how often the oldest request may be passed over
  int64_t bank_groups = 4;
  int64_t banks_per_group = 4;
  int64_t row_bytes = 1024;
  /// Picoseconds; in brackets the names that data sheets use.
  struct Timing {
    int64_t burst_ps = 2500;                 ///< a burst on the data bus
    int64_t same_group_ps = 2500;            ///< column commands to one bank group [tCCD_L]
    int64_t read_latency_ps = 14000;         ///< [CL]
    int64_t write_latency_ps = 4000;         ///< [CWL]
    int64_t row_to_column_ps = 14000;        ///< [tRCD]
    int64_t precharge_ps = 14000;            ///< [tRP]
    int64_t row_active_ps = 34000;           ///< [tRAS]
    int64_t read_to_precharge_ps = 6000;     ///< [tRTP]
    int64_t write_recovery_ps = 16000;       ///< [tWR]
    int64_t write_to_read_ps = 8000;         ///< [tWTR_L]
    int64_t activate_to_activate_ps = 4000;  ///< [tRRD_S]
    int64_t four_activations_ps = 16000;     ///< [tFAW]
    int64_t refresh_interval_ps = 3900000;   ///< of every bank [tREFI]
    int64_t refresh_ps = 160000;             ///< of one bank [tRFCpb]
  } timing;
};

/// Linked scratchpads. A tensor is spread evenly over them; ports have fixed time slots, so that
/// they do not disturb each other (ir-spec/timing.md).
struct ScratchpadModel {
  int64_t bytes = 0;            ///< capacity, all together; 0: unlimited
  int64_t bytes_per_cycle = 0;  ///< all together; 0: unlimited
  int64_t tiles = 1;            ///< scratchpads; of each access (tiles - 1) / tiles crosses links
  int64_t link_bytes_per_cycle = 0;  ///< all links together; 0: unlimited
  int64_t latency_cycles = 0;        ///< of an access, beyond the latency of the unit that asks
};

/// What a step on a block costs, for units that work inside of blocks. The side of a block is its
/// largest extent, its volume the number of its elements; 0: no more than a step on one number.
struct BlockTiming {
  int64_t lanes = 0;  ///< elements that a unit works on in a cycle; 0: a whole block
  int64_t product_interval_cycles_per_side = 1;
  int64_t product_latency_cycles_per_side = 0;
  int64_t elementwise_latency_cycles_per_element = 0;
  int64_t unary_latency_cycles_per_side = 0;
  int64_t load_latency_cycles_per_element = 0;
  int64_t reduce_latency_cycles_per_element = 0;
};

/// Operators whose units are slower than those that add and multiply.
enum class OperatorClass : uint8_t { divide, root, exponential };
inline constexpr int kOperatorClasses = 3;
std::string_view operator_class_name(OperatorClass which);

/// What a step of `map` costs for such an operator; 0: as much as for any other.
struct OperatorTiming {
  int64_t latency_cycles = 0;
  int64_t interval_cycles = 0;
};

/// A family of instructions of the matrix unit: the smallest product that it does, in either
/// orientation. Of elements of 4 bytes the depth is half.
struct MatrixShape {
  int64_t rows = 0;  ///< 0: there is no such family
  int64_t columns = 0;
  int64_t depth = 0;
  double rate_share = 1;  ///< of matrix_flops_per_cycle
};
inline constexpr size_t kMatrixShapes = 2;  ///< families that a machine may have

/// Element sizes whose products may have a rate of their own, in bytes.
inline constexpr std::array<int64_t, 3> kOtherElementBytes{1, 4, 8};

/// Cores with linked scratchpads, which run tile graphs (ir-spec/cluster.md). 0 means unlimited or
/// free everywhere: a machine without cores runs them all at a time, an operation a cycle.
struct CoreModel {
  int64_t count = 0;
  double matrix_flops_per_cycle = 0;  ///< of a core, on elements of 2 bytes
  /// The rate on elements of kOtherElementBytes; 0: by their size, half as many where they are
  /// twice as large.
  std::array<double, 3> matrix_flops_per_cycle_of_bytes{};
  /// The type of fewer digits in which products of f32 are multiplied, as "tf32"; empty: in f32.
  std::string matrix_type_of_f32;
  std::array<MatrixShape, kMatrixShapes> matrix_shapes{};  ///< none: any product at the full rate
  int64_t register_bytes = 0;
  double register_bytes_per_cycle = 0;
  int64_t scratchpad_bytes = 0;
  double scratchpad_bytes_per_cycle = 0;  ///< reads and writes together
  int64_t scratchpad_latency_cycles = 0;
  int64_t matrix_latency_cycles = 0;
  int64_t barrier_cycles = 0;  ///< until those who wait for a tile on the core see that it is there
  double port_bytes_per_cycle = 0;          ///< from and to memory; 0: no limit
  double vector_operations_per_cycle = 0;   ///< elementwise: sums, products; 0: free
  double comparison_rate_share = 1;         ///< of that rate, which comparisons have
  double special_operations_per_cycle = 0;  ///< divisions, roots, exponentials; 0: free
};

/// Cluster sizes that a machine has link figures for.
inline constexpr std::array<int, 5> kClusterSizes{1, 2, 4, 8, 16};

struct LinkModel {
  std::array<double, 5> bandwidth_gigabytes_per_second{};  ///< of all cores, by cluster size
  std::array<int64_t, 5> latency_cycles{};
  std::array<int64_t, 5> barrier_cycles{};  ///< until another core sees that one has room
  std::array<int64_t, 5> most_cores{};      ///< that such clusters can fill; 0: all
  bool multicast = false;  ///< a tile that cores of a cluster load together is read once
};

/// A cache between the cores and global memory. Without capacity the machine has none. Which tiles
/// it holds: sim/tiles/tile_cache.h.
struct L2Model {
  int64_t capacity_bytes = 0;
  double bytes_per_cycle = 0;        ///< of all cores together; 0: unlimited
  int64_t latency_cycles = 0;        ///< of a tile that it holds
  double store_bytes_per_cycle = 0;  ///< of what cores store; 0: bytes_per_cycle
  double add_bytes_per_cycle = 0;  ///< of what they add to results in memory; 0: as what they store

  /// Bytes a cycle of what cores store or, with `adds`, add; 0: unlimited.
  double store_rate(bool adds) const;
};

/// Memory as cores see it: consecutive channels. No keys of its own: share_hardware() fills it from
/// `dram` (machine/shared_hardware.h).
struct GlobalModel {
  double bandwidth_gigabytes_per_second = 0;
  int64_t latency_cycles = 0;
  int64_t channels = 1;
};

struct Machine {
  FUSEFLOW_VALUE_TYPE(Machine);
  std::string name = "ideal";
  std::string description;
  /// What the machine has at all, by the sections of its description (load.h): units for streams,
  /// cores for tiles. That is not the same as their number, where 0 means unlimited.
  bool has_streams = true;
  bool has_cores = false;
  bool has_energy =
      false;  ///< without `[energy]` nothing is said of energy, without `[area]` of area
  bool has_area = false;
  double clock_gigahertz = 1;
  int64_t fifo_depth = 0;              ///< tokens a stream holds for each consumer; 0: unbounded
  int64_t reconfiguration_cycles = 0;  ///< between regions
  int64_t accumulate_drain_interval_cycles = 1;  ///< between two entries of a flush; 0: all at once
  bool accumulate_outer_stops_take_steps = false;  ///< after the inner stop's, one a loop
  bool accumulate_double_buffered = false;  ///< an accumulator drains one store and fills another
  bool write_stops_take_steps = false;      ///< a writer takes stops at its interval, else for free
  std::array<UnitTiming, kUnitClasses> units{};
  std::array<OperatorTiming, kOperatorClasses> operators{};
  bool phases_hold_units_together = false;  ///< else the phases of a region have them in turn
  BlockTiming block;
  ScratchpadModel scratchpad;
  DramModel dram;
  CoreModel core;
  LinkModel links;
  L2Model l2;
  GlobalModel global;
  EnergyModel energy;
  AreaModel area;

  double seconds_of(double cycles) const { return cycles / (clock_gigahertz * 1e9); }
  double global_bytes_per_cycle() const {
    return global.bandwidth_gigabytes_per_second / clock_gigahertz;
  }
  /// The rate of the memory model, all channels together; 0: memory takes no time.
  double dram_bytes_per_cycle() const;
  /// What memory can move for a graph of tiles, or of streams; 0: it takes no time.
  double memory_bytes_per_cycle(bool of_tiles) const {
    return of_tiles ? global_bytes_per_cycle() : dram_bytes_per_cycle();
  }
  /// What one core can send over the links of a cluster of `cores` (one of kClusterSizes).
  double link_bytes_per_cycle(int cores) const;
  int64_t link_latency(int cores) const;
  int64_t link_barrier(int cores) const;
  /// FLOPs a cycle of a core's matrix unit on elements of so many bytes.
  double matrix_rate(int64_t element_bytes) const;
  /// What a product of m x k by k x n elements costs its matrix unit, in FLOPs at matrix_rate():
  /// with the padding and at the rate of the best family of instructions.
  double matrix_work(int64_t m, int64_t n, int64_t k, int64_t element_bytes) const;
  /// Whether it is worth a search what streams keep in the scratchpad: its size is a choice, or
  /// memory takes time. A scratchpad without limits has room for all, and is there all the same.
  bool scratchpad_counts() const { return scratchpad.bytes > 0 || dram.model != "none"; }
  bool has_l2() const { return l2.capacity_bytes > 0; }
  /// Clusters of `cores` (one of kClusterSizes) that run at a time.
  int64_t concurrent_clusters(int cores) const;

  const UnitTiming& timing(UnitClass unit) const { return units[static_cast<size_t>(unit)]; }
  UnitTiming& timing(UnitClass unit) { return units[static_cast<size_t>(unit)]; }
};

}  // namespace fuseflow
