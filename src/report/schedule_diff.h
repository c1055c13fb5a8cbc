// What two programs that compute the same do differently: grouping, schedules, storage.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "report/run_diff.h"

namespace fuseflow {

/// Lines for people, in the order of the pairs: `h1: + order i, j`, `y: statements %h1, %y were 2
/// regions`; then tensors whose storage differs: `%x: dense,compressed -> dense,dense`. Empty where
/// nothing differs.
std::vector<std::string> schedule_changes(const Program& a, const Program& b,
                                          const std::vector<RegionPair>& pairs);

/// Statements whose text differs or that one program alone has, by the name of the result: then the
/// programs do not compute the same.
std::vector<std::string> statement_changes(const Program& a, const Program& b);

}  // namespace fuseflow
