// Estimates of a program: FLOPs, bytes, tokens and cycles of every region without simulating it,
// and a lower bound on its cycles. Methods and their errors: ir-spec/estimate.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/costs.h"
#include "estimate/statistics.h"
#include "ir/program.h"
#include "sim/common/run_counts.h"
#include "sim/run.h"

namespace fuseflow {

struct RegionEstimate : RunCounts<double> {
  std::string region;
  double cycles = 0;
  double bound = 0;          ///< <= the simulated cycles; 0 when nothing is certain (statistics)
  std::string limit;         ///< the node whose steps take longest: "scan %adj.1", "accumulate"
  std::vector<double> busy;  ///< cycles taken by steps, by node of the graph
  std::vector<double> tensor_bytes;  ///< read and written, by node
  double loading_cycles = 0;         ///< before the first phase: inputs of the scratchpad
  double energy_pj = 0;              ///< of a machine that says what actions cost; else 0
  double memory_pj = 0, loading_pj = 0, leakage_pj = 0;  ///< parts of it (energy/price.h)
  double energy_bound_pj = 0;   ///< <= the simulated energy; 0 when nothing is certain
  double dram_bytes_bound = 0;  ///< <= the simulated bytes, read and written
  double area_mm2 = 0;
  bool certain = false;  ///< from the data, and no filter decides by values: counts are exact
};

struct ProgramEstimate {
  std::vector<RegionEstimate> regions;
  RegionEstimate total;  ///< with the reconfigurations between regions
};

/// In both modes (from data and from statistics) a graph of tiles is timed as the simulator times
/// it, exactly and without values; on a machine without cores it is refused (Error(rejected)).

/// Counts from the data: FLOPs as the simulator counts them (exactly, unless values decide what
/// is stored). Every region has a graph. `data` holds the tensors that no region writes.
ProgramEstimate estimate_from_data(const Program& program, const TensorData& data,
                                   const Machine& machine);

/// One region that has a graph. `data` holds what it reads; `uncertain` marks, by TensorId,
/// patterns that are themselves estimates (empty: none).
RegionEstimate estimate_region(const Program& program, const Region& region, const TensorData& data,
                               const Machine& machine, const std::vector<bool>& uncertain = {});

/// Estimates a region from data, and puts the patterns that it writes into `data` and `uncertain`.
RegionEstimate estimate_region_into(const Program& program, const Region& region, TensorData& data,
                                    std::vector<bool>& uncertain, const Machine& machine);

/// Estimates a region from statistics, and puts those of what it writes into `known` (by TensorId).
RegionEstimate estimate_region_from_statistics(const Program& program, const Region& region,
                                               std::vector<estimate::TensorStatistics>& known,
                                               const Machine& machine);

/// Loads the inputs and constants that have levels which are not dense; values of the others do not
/// matter to an estimate. Errors as load_tensors.
TensorData load_patterns(const Program& program);

/// From statistics of the stored tensors alone (statistics.h), by TensorId.
ProgramEstimate estimate_from_statistics(const Program& program,
                                         const std::vector<estimate::TensorStatistics>& statistics,
                                         const Machine& machine);

/// One row a region and `total`: the columns of fuseflow-sim, then bound_cycles and limit.
std::string estimate_csv(const Program& program, const Machine& machine,
                         const ProgramEstimate& estimate);

}  // namespace fuseflow
