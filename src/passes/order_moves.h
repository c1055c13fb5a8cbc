// Orders of a region as a search of placements moves through them: which moves of single indices
// expected stream lengths favour. (orders.h looks at orders alone, by the cost model.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/flops.h"
#include "lower/lower.h"
#include "lower/region_indices.h"

namespace fuseflow {

/// Moves single indices among those of one phase while the expected steps fall.
class OrderClimb {
 public:
  /// `most_nodes`: of all graphs that are lowered.
  OrderClimb(Program& program, size_t region, double most_nodes)
      : p_(program), region_(region), most_nodes_(most_nodes) {}

  /// From the order that the region has. True if it found another, which the region then has.
  bool run();
  /// Nodes lowered so far.
  double nodes() const { return nodes_; }

 private:
  std::optional<GraphCost> cost_of(const std::vector<std::string>& order);
  bool improve(const RegionIndices& indices, const std::vector<bool>& among,
               std::vector<int>& order, GraphCost& cost);

  Program& p_;
  const size_t region_;
  const double most_nodes_;
  double nodes_ = 0;
};

}  // namespace fuseflow
