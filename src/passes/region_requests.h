// Regions that a user asks for by name: `--region 'layer1: t0, t1'`.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "passes/regroup.h"

namespace fuseflow {

/// The requested regions, each `NAME: VALUE or REGION, ..`; what they leave of the present ones
/// stays together. Throws Error(usage) for a malformed request, Error(rejected) for names that the
/// program does not have or that stand in two regions.
std::vector<Group> requested_groups(const Program& program, const std::vector<std::string>& texts);

/// Throws Error(usage) for a request that is malformed in any program.
void check_region_request(const std::string& text);

}  // namespace fuseflow
