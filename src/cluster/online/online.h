// Online softmaxes of a program: found, planned, compared with their kernels apart, and put into
// it where they win.
#pragma once

#include <vector>

#include "cluster/common/outcome.h"
#include "cluster/online/tiles.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What became of a product with a softmax.
struct OnlineOutcome : KernelOutcome {
  OnlineTiles tiles;
  OnlineSpread spread;  ///< over cores: what was tried, or (found) could be
};

struct OnlineOptions {
  bool measure = true;         ///< else they are only found
  bool accept_slower = false;  ///< taken although its kernels apart are not slower
};

/// Every product of a softmax, in program order. Those that are taken have a region each, with the
/// graph, in the place of their last statement.
std::vector<OnlineOutcome> plan_online(Program& program, const Machine& machine,
                                       const OnlineOptions& options);

}  // namespace fuseflow::cluster
