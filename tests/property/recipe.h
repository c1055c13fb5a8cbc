// A random program as data: what the property test generates, shrinks and prints. Every dimension
// of a tensor and every index of a statement belongs to a class, all of whose members have one
// extent.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace fuseflow::testing {

struct Recipe {
  Program program;                               ///< inputs have inline values as their sources
  std::vector<int64_t> extents;                  ///< by class
  std::vector<std::vector<int>> tensor_classes;  ///< by tensor, by dimension
  std::vector<std::vector<int>> index_classes;   ///< by statement (over all regions), by index
};

/// The statement's indices in use, in the order that the language gives them; `classes` follows.
/// Unreachable nodes go, children stand before parents.
void tidy(Statement& statement, std::vector<int>& classes);

/// A program that depends on nothing but the seed.
Recipe generate_recipe(uint64_t seed);

/// Replaces the region's order by a random legal one.
void shuffle_order(Program& program, size_t region, uint64_t seed);

}  // namespace fuseflow::testing
