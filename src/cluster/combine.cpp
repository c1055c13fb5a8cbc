#include "cluster/combine.h"

#include <utility>

#include "cluster/kernel_sequence.h"

namespace fuseflow::cluster {
namespace {

/// Of its graphs of tiles, one after the other; the others stay the same.
int64_t tiles_cycles(const Program& program, const Machine& machine) {
  KernelSequence sequence(machine);
  for (const Region& region : program.regions) {
    if (region.graph && region.graph->tiles) sequence.run(*region.graph);
  }
  return sequence.apart().total.cycles;
}

}  // namespace

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
