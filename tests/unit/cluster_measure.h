// Times plans of chains to their end, for tests that compare them with bounds and with one another.
#pragma once

#include "cluster/chain/lower_plan.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

inline Measured measure_plan(const Chain& chain, const Plan& plan, const Analysis& analysis,
                             const Machine& machine) {
  return time_tiles(plan_graph(chain, plan, analysis), machine);
}

}  // namespace fuseflow::cluster
