// The tiles of a kernel of rows: candidates that fit a core ranked by cost, the best of them
// simulated, the fastest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/common/candidates.h"
#include "cluster/rows/graph.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Tiles, and what their graph (rows_graph) takes.
struct RowsPlan {
  RowsTiles tiles;
  Measured measured;
};

/// The tiles of a form that are worth a simulation.
struct RankedRows {
  struct Tiles {
    RowsTiles tiles;
    double cost = 0;  ///< cycles, about
  };
  std::string key;         ///< what they depend on
  std::vector<Tiles> all;  ///< those of least cost first; none: nothing fits the machine

  /// Cycles that the best may take, from the costs alone: hardly ever more than it takes. Infinite
  /// where there is none.
  double least_cycles() const;
};

/// Ranked once for each form, whatever its tensors are called.
RankedRows rank_rows(const RowsForm& form, const Machine& machine);

/// The fastest of these; nothing where there is none, or none takes fewer than `most_cycles` (0:
/// any). Simulated once for each form.
std::optional<RowsPlan> fastest_rows(const RowsForm& form, const RankedRows& ranked,
                                     const Machine& machine, int64_t most_cycles = 0);

}  // namespace fuseflow::cluster
