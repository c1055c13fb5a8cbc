// What became of online softmaxes, as notes on standard error.
#pragma once

#include <vector>

#include "cluster/online/online.h"

namespace fuseflow::cluster {

void report_online(const Program& program, const std::vector<OnlineOutcome>& outcomes);

}  // namespace fuseflow::cluster
