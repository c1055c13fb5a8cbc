// Orders of a region as a search of placements moves through them: which moves of single indices
// expected stream lengths favour. (orders.h looks at orders alone, by the cost model.)
#pragma once

#include <map>
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
  /// `most_nodes`: of all graphs that are lowered. Throws what OrderedLowering throws.
  OrderClimb(const Program& program, size_t region, double most_nodes);

  /// The best order that it finds from the one that the region has; nothing if none is better.
  std::optional<std::vector<std::string>> run();
  /// Nodes lowered so far.
  double nodes() const { return nodes_; }

 private:
  /// The loops of every instance, outermost first. Orders with the same ones give the same graph:
  /// most moves carry an index past others that no instance shares with it.
  using LoopNests = std::vector<std::vector<int>>;

  LoopNests nests_of(const std::vector<int>& order) const;
  const std::optional<GraphCost>& cost_of(const std::vector<int>& order);
  std::optional<GraphCost> lowered(const std::vector<int>& order);
  bool improve(const std::vector<bool>& among, std::vector<int>& order, GraphCost& cost);

  const Program& p_;
  const Region& region_;
  const LowerOptions options_;
  const OrderedLowering lowering_;
  const RegionIndices& indices_;  ///< of `lowering_`
  const LoopNests loops_;         ///< in no order
  const double most_nodes_;
  double nodes_ = 0;
  std::map<LoopNests, std::optional<GraphCost>> known_;
};

}  // namespace fuseflow
