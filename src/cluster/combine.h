// The kernels of a program combined: elementwise statements folded (fold.h) and runs of rows as one
// kernel (rows.h), in the order that gives fewer cycles.
#pragma once

#include <vector>

#include "cluster/fold.h"
#include "cluster/rows.h"

namespace fuseflow::cluster {

struct CombinedKernels {
  std::vector<FoldOutcome> folded;
  std::vector<RowsOutcome> rows;
};

/// Of the program's graphs of tiles as it runs them: each from an empty L2, with a pause.
int64_t tiles_cycles(const Program& program, const Machine& machine);

/// Of a program whose regions are graphs of tiles where they can be. What is folded first is no
/// longer there for a run of rows that begins or ends within it, and the other way round.
CombinedKernels combine_kernels(Program& program, const Machine& machine,
                                const RowsOptions& options = {});

}  // namespace fuseflow::cluster
