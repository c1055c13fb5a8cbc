// Kernels of rows of a program: runs of statements that work on each row apart, found, planned,
// compared with what they take otherwise, and put into the program where they win.
#pragma once

#include <vector>

#include "cluster/common/outcome.h"
#include "cluster/rows/tiles.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What became of a run of statements.
struct RowsOutcome : KernelOutcome {
  std::vector<TensorId> results;
  int products = 0, reductions = 0;
  RowsTiles tiles;
  Graph graph;
};

struct RowsOptions {
  bool measure = true;         ///< else they are only found
  int least_work = 1;          ///< products and reductions in one kernel: 2 for chains alone
  bool against_folded = true;  ///< kernels that are not planned yet are folded where that is faster
};

/// The runs of a program whose regions are graphs of tiles where they can be. Those that are taken
/// have a region each, with the graph, in the place of their last statement.
std::vector<RowsOutcome> plan_rows(Program& program, const Machine& machine,
                                   const RowsOptions& options = {});

}  // namespace fuseflow::cluster
