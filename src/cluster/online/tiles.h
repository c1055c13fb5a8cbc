// The tiles of an online softmax: blocks of rows and of k, the copies and steps that fit a core;
// candidates ranked by cost, the best of them simulated, the fastest.
#pragma once

#include <optional>

#include "cluster/common/candidates.h"
#include "cluster/online/form.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

using OnlinePlan = TilesPlan<OnlineTiles>;

/// The fastest plan of the candidates; nothing where none fits the machine.
std::optional<OnlinePlan> fastest_online(const OnlineForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
