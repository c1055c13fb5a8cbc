// Checks a recipe under a random schedule, and makes a failing one smaller.
#pragma once

#include "check.h"
#include "recipe.h"

namespace fuseflow::testing {

/// The recipe's program with a random legal order for some of its regions. A request of the recipe
/// that cannot be met is taken back; what is left is placed as fuseflow-fuse would.
Program schedule_recipe(const Recipe& recipe, uint64_t seed);

CheckResult check_recipe(const Recipe& recipe, uint64_t seed);

/// Drops statements, expressions, placements, entries and extents while the check still fails.
Recipe shrink(Recipe recipe, uint64_t seed);

}  // namespace fuseflow::testing
