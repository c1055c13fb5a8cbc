// The tiles of an online softmax: blocks of rows and of k, the copies and steps that fit a core;
// candidates ranked by cost, the best of them simulated, the fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/common/candidates.h"
#include "cluster/online/form.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

using OnlinePlan = TilesPlan<OnlineTiles>;

/// What was tried of one way to spread the work over the cores of a cluster.
struct SpreadTried {
  std::string none;       ///< why no plan of it fits the machine; empty: some do
  int64_t plans = 0;      ///< that fit
  int64_t simulated = 0;  ///< ... and were simulated, or begun
};

/// Cores that have tiles of rows and share keys and values, and cores that have a part of the keys.
struct OnlineSpread {
  SpreadTried rows, keys;
};

/// The fastest plan of the candidates; nothing where none fits the machine. `spread`: what was
/// tried, if there is a plan.
std::optional<OnlinePlan> fastest_online(const OnlineForm& form, const Machine& machine,
                                         OnlineSpread* spread = nullptr);

/// What there is to try; nothing is simulated.
OnlineSpread online_spread(const OnlineForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
