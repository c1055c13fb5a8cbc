// The strategy `auto` of fuse: what it compares, and the choice by the cost model. fuse.cpp has the
// pass with its options and the other strategies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/placements.h"
#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"
#include "passes/regroup.h"
#include "search/whole_kernels.h"

namespace fuseflow {

/// What a user asks of fuse.
struct FuseRequest {
  std::string strategy;
  TilePlanner tiles;       ///< none: no kernels for cores
  int64_t max_copies = 1;  ///< of a loop
  Machine machine;
  PlacementOptions placement;
};

/// All statements as one group; nothing of a program without statements.
std::vector<Group> full_group(const Program& program);

/// As few regions as the machine has room for; says why where that is more than one.
std::vector<Group> auto_groups(const Program& program, const FuseRequest& request, PassLog& log);

/// Whether a region has a graph of tiles.
bool any_tiles(const Program& program);

/// The strategy `auto`: for the formats as given and, if others pay for the kernels alone or for as
/// few regions as fit, for these. Cores read what they want to: for them no other formats are
/// tried.
Program best_by_cost(const Program& program, const FuseRequest& given_request, CostModel& costs,
                     bool verbose, PassLog& log);

}  // namespace fuseflow
