// The kernels of a program combined: elementwise statements folded (kernels/fold.h), runs of rows
// as one kernel (rows/rows.h), dense products behind sparse ones (kernels/behind.h), in the order
// that gives the fewest cycles.
#pragma once

#include <vector>

#include "cluster/kernels/behind.h"
#include "cluster/kernels/fold.h"
#include "cluster/rows/rows.h"

namespace fuseflow::cluster {

struct CombinedKernels {
  std::vector<FoldOutcome> folded;
  std::vector<RowsOutcome> rows;
  std::vector<BehindOutcome> behind;
};

/// Of the program's graphs of tiles as it runs them: each from an empty L2, with a pause.
int64_t tiles_cycles(const Program& program, const Machine& machine);

/// Of a program whose regions are graphs of tiles where they can be. What is one kernel already is
/// no longer there for another one that begins or ends within it, hence the orders.
CombinedKernels combine_kernels(Program& program, const Machine& machine,
                                const RowsOptions& options = {});

}  // namespace fuseflow::cluster
