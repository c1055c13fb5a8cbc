// What a run of a graph would count, before time comes in: elements and stops of every space, and
// the few numbers of nodes that do not follow from them (nodes/numbers.h). Filled by exact counting
// (from the data) or from statistics; costs.h turns it into FLOPs, bytes and cycles.
#pragma once

#include <memory>
#include <vector>

#include "estimate/row_needs.h"
#include "estimate/structure.h"
#include "nodes/numbers.h"
#include "sim/run.h"

namespace fuseflow::estimate {

struct Counts {
  std::vector<SpaceCount> space;  ///< by space
  std::vector<NodeCount> node;    ///< by NodeId
  std::vector<RowNeeds> needs;    ///< by NodeId
  /// By space: independent of values, so that lower bounds may rest on it.
  std::vector<bool> certain;
  /// By TensorId: which of its entries are stored depends on values, so that lower bounds may not
  /// rest on what is found in it. Empty: of none.
  std::vector<bool> by_values;

  /// Whether the node reads such a tensor.
  bool finds_by_values(const Node& reader) const;
};

/// Patterns (levels without values) of the tensors that a graph writes, by TensorId; tensors
/// without compressed levels need none. `certain`: independent of values.
struct Written {
  TensorId tensor = -1;
  std::shared_ptr<const Storage> pattern;
  bool certain = true;
};

struct ExactCounts {
  Structure structure;
  Counts counts;
  std::vector<Written> written;
};

/// Counts from the data: equal to what the simulator does, except below filters (values are not
/// computed). `uncertain`: tensors, by TensorId, whose patterns are themselves estimates.
ExactCounts count_exact(const Program& program, const Graph& graph, const TensorData& data,
                        const std::vector<bool>& uncertain);

/// The stops of all spaces, from their elements and non-empty fibers.
void complete_stops(const Structure& structure, Counts& counts);

/// Where several writers store the values of one tensor in parts: divides what each stores, after
/// the nodes were counted as if each stored all.
void divide_parts(const Structure& structure, Counts& counts);

}  // namespace fuseflow::estimate
