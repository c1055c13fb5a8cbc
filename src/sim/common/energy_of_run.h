// What a run counted, as work that energy/ prices.
#pragma once

#include "energy/price.h"
#include "sim/common/program_result.h"

namespace fuseflow {

RegionWork work_of_run(const Graph& graph, const Machine& machine, const RunResult& run);

/// Energy of a program: of each region that was run, and with what the pauses between them leak.
struct ProgramEnergy : EnergyParts {
  std::vector<RegionEnergy> regions;
  std::vector<double> areas_mm2;  ///< that each region takes
  double area_mm2 = 0;            ///< the largest
};

/// Every region has a graph.
ProgramEnergy energy_of_run(const Program& program, const Machine& machine, const ProgramRun& run);

}  // namespace fuseflow
