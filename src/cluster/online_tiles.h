// The tiles of an online softmax: blocks of rows and of k, the copies and steps that fit a core;
// candidates ranked by cost, the best of them simulated, the fastest.
#pragma once

#include <optional>

#include "cluster/online_form.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

struct OnlinePlan {
  OnlineTiles tiles;
  Graph graph;
  Measured measured;
};

/// The fastest plan of the candidates; nothing where none fits the machine.
std::optional<OnlinePlan> fastest_online(const OnlineForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
