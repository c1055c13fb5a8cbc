// The ways to run a program on the cores of a machine, for searches that mix them with streams:
// fuseflow-fuse and fuseflow-explore consider the same ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "search/whole_kernels.h"

namespace fuseflow::cluster {

/// Gives what `plan` makes of a program, or what it made of it before.
using PlanKeeper = std::function<Program(const std::string& name, const Program& from,
                                         const std::function<Program()>& plan)>;

struct TilePlansOptions {
  int threads = 1;
  /// Also what promises little: very sparse tensors stored dense, and a second time a program whose
  /// tensors all are.
  bool all = true;
};

/// Every statement a kernel of tiles, and chains, attentions and rows where they are faster; of the
/// program as given, but for what is added and stored compressed, and with all tensors dense. What
/// does not fit the cores is left out, and `notes` say why.
std::vector<PlannedProgram> tile_plans(const Program& given, const Machine& machine,
                                       const TilePlansOptions& wanted, const PlanKeeper& kept,
                                       std::vector<std::string>& notes);

/// The same for passes. On machines without cores that can be planned for,
/// nothing.
TilePlanner tile_planner();

}  // namespace fuseflow::cluster
