// Subscripts of tile_load and tile_store, as the rules of all forms of graphs of tiles check them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// The dimension of each digit, by its number.
std::vector<int> dims_of_digits(const Graph& graph);
/// The extent of the digit of this number; 1 where there is none.
int64_t digit_extent(const Graph& graph, size_t digit);

/// What is wrong with subscripts over digits of `dims`; empty: nothing.
std::string wrong_subscripts(const Graph& graph, const Node& node, const std::vector<int>& dims);

/// How often each digit is a subscript of a store; none where a subscript is no plain digit.
std::optional<std::vector<int>> plain_digits(const Node& store, size_t digits);

}  // namespace fuseflow
