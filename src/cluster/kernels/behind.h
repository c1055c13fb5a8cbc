// Products that leave tiles out and the dense product behind each, as one kernel: found in the
// kernels of a program, planned, compared with these, and put into it where they win.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/common/kernel_sequence.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What became of such a pair.
struct BehindOutcome {
  TensorId result = -1;
  std::string why;     ///< it has no form, or no tiles that fit; else empty
  bool taken = false;  ///< else its kernels apart are as fast
  Measured fused;
  KernelsApart apart;  ///< as the program had them, with the reconfiguration between them
};

/// Every pair in regions that follow each other, each a graph of tiles, in program order: of those
/// that a product begins the one that saves most, or the reason why the first has no form. Those
/// that are faster have a region of their own afterwards, with the graph, in the place of the last
/// one's.
std::vector<BehindOutcome> plan_behind(Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
