#include "cluster/combine.h"

#include <utility>

#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

int64_t tiles_cycles(const Program& program, const Machine& machine) {
  int64_t cycles = 0;
  for (const Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) continue;
    cycles += time_tiles(*region.graph, machine).cycles + machine.reconfiguration_cycles;
  }
  return cycles;
}

CombinedKernels combine_kernels(Program& program, const Machine& machine,
                                const RowsOptions& options) {
  Program rows_first = program;
  CombinedKernels combined;
  combined.folded = fold_kernels(program, machine);
  combined.rows = plan_rows(program, machine, options);
  if (combined.folded.empty()) return combined;
  CombinedKernels other;
  RowsOptions apart = options;
  apart.against_folded = false;
  other.rows = plan_rows(rows_first, machine, apart);
  other.folded = fold_kernels(rows_first, machine);
  if (tiles_cycles(rows_first, machine) < tiles_cycles(program, machine)) {
    program = std::move(rows_first);
    combined = std::move(other);
  }
  return combined;
}

}  // namespace fuseflow::cluster
