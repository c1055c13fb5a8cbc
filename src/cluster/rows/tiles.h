// The tiles of a kernel of rows: candidates that fit a core ranked by cost, the best of them
// simulated, the fastest.
#pragma once

#include <optional>

#include "cluster/common/candidates.h"
#include "cluster/rows/graph.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Tiles, and what their graph (rows_graph) takes.
struct RowsPlan {
  RowsTiles tiles;
  Measured measured;
};

/// The fastest of the candidates; nothing where none fits the machine, or none takes fewer than
/// `most_cycles` (0: any). Each is looked for once, whatever its tensors are called.
std::optional<RowsPlan> fastest_rows(const RowsForm& form, const Machine& machine,
                                     int64_t most_cycles = 0);

/// Cycles that the best candidate may take, from the costs alone: hardly ever more than it takes.
/// Nothing where none fits the machine.
std::optional<double> least_rows_cycles(const RowsForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
