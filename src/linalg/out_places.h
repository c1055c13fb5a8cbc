// Where an operation writes. An out map that names a loop for each dimension writes every element;
// constants, sums of loops and loops that are named twice write to parts, or to one place often.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "linalg/function.h"

namespace fuseflow {

/// The label of dimension `d` of a result where it is no loop. Loops are labels by number.
inline constexpr int kPlacedDim = 50000;

/// `low` <= `value` <= `high`, over labels.
struct PlaceCondition {
  Subscript value;
  int64_t low = 0;
  int64_t high = 0;
};

struct OutPlaces {
  std::vector<int> labels;  ///< by dimension of the result; -1: extent 1
  /// Loops whose number follows from the labels: i where the map is i + 2 is the place less 2.
  std::map<int, Subscript> solved;
  /// An element is written where all of them hold; none: every element is.
  std::vector<PlaceCondition> conditions;
  std::vector<int> rest;   ///< loops that are neither labels nor solved: rounds of one element
  std::vector<int> named;  ///< loops that the map names
  bool once = false;       ///< at most one round writes an element
  /// Each loop of `rest` with the condition that only one number of it meets (its position in
  /// `conditions`); loops that a condition has, too, come before. All of them where `once`.
  std::vector<std::pair<int, size_t>> determined;
};

/// Of result `r`, whose out has these extents. An operation without outs writes by all its loops.
OutPlaces out_places(const LinalgOp& op, size_t r, const std::vector<int64_t>& shape);

/// A subscript over loops as one over labels and the loops that are left.
Subscript over_labels(const Subscript& over_loops, const std::map<int, Subscript>& solved);

}  // namespace fuseflow
