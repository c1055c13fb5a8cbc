// Orders of a region as a search of placements moves through them: which moves of single indices
// expected stream lengths favour, or the cost model. (orders.h looks at orders alone.)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/lower.h"
#include "lower/region_indices.h"
#include "passes/cost_model.h"

namespace fuseflow {

/// Moves single indices among those of one phase while the region gets cheaper.
class OrderClimb {
 public:
  /// `most_effort`: in nodes lowered, and what the model takes. `model` judges by its cycles; null:
  /// expected steps do. `known` outlives this. Throws what OrderedLowering throws.
  OrderClimb(const Program& program, size_t region, double most_effort, CostModel* model,
             KnownPhases& known);

  /// The best order that it finds from the one that the region has; nothing if none is better.
  std::optional<std::vector<std::string>> run();
  /// Nodes lowered so far, but for those that the model lowered.
  double nodes() const { return nodes_; }

 private:
  /// The loops of every instance, outermost first. Orders with the same ones give the same graph:
  /// most moves carry an index past others that no instance shares with it.
  using LoopNests = std::vector<std::vector<int>>;

  LoopNests nests_of(const std::vector<int>& order) const;
  /// Steps or cycles, what lacks in place of cycles where the machine has no room; nothing if it
  /// cannot be lowered, or there is no effort left.
  std::optional<double> cost_of(const std::vector<int>& order);
  std::optional<double> judged(const std::vector<int>& order);
  std::optional<double> expected_steps(const std::vector<int>& order);
  std::optional<double> cycles(const std::vector<int>& order);
  bool has_time() const;
  bool improve(const std::vector<bool>& among, std::vector<int>& order, double& cost);

  const Program& p_;
  const size_t at_;
  const Region& region_;
  CostModel* model_;
  const LowerOptions options_;
  const OrderedLowering lowering_;
  const RegionIndices& indices_;  ///< of `lowering_`
  const LoopNests loops_;         ///< in no order
  const double most_effort_;
  double nodes_ = 0;
  double model_before_ = 0;  ///< effort of the model when this began
  std::map<LoopNests, std::optional<double>> known_;
};

}  // namespace fuseflow
