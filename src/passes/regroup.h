// Puts the statements of a program into other regions: the one place that checks that regions are
// convex, orders them, and carries schedules over. Which statements go together is fuse.h's choice.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "passes/pass.h"

namespace fuseflow {

/// A wanted region. `statements` are positions in program order (Dependences::nodes).
struct Group {
  std::string name;  ///< empty: that of the last old region in it
  std::vector<int> statements;
};

/// The program with the groups as its regions; every statement is in exactly one group. Regions
/// are in dependence order, else in the order of their first statements. Orders of merged regions
/// are dropped (noted), the other parts of their schedules are kept where they still apply.
/// Throws Error(rejected) for a group with a hole: a path that leaves and re-enters it.
Program regroup(const Program& program, std::vector<Group> groups, PassLog& log);

/// The groups that are the program's present regions.
std::vector<Group> present_groups(const Program& program);

}  // namespace fuseflow
