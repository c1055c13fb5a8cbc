// Which points of an operator must be visited: by the calculus of ops/ over the fills of its
// operands and over facts of their data, whatever the program says of them.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "reference/table.h"

namespace fuseflow::reference {

/// The result may differ from `fill` at points of the pattern only.
struct Walk {
  PatternPtr pattern;
  float fill = 0;
};

/// What is known of all values of an operand.
using FactsOf = std::function<Facts(const Table&)>;

/// None: every point must be visited. `loops` are those that the result depends on.
std::optional<Walk> choose_walk(Op op, std::span<const Table> operands, const FactsOf& facts,
                                const Loops& loops, const Domain& domain);

/// What all of the values have in common.
Facts facts_of(std::span<const float> values);

}  // namespace fuseflow::reference
