// Loop schedules of a chain: which dimensions a cluster walks in time, in which order, and which
// are spread over clusters; and cluster shapes (graph/cluster_shape.h). Enumerated by rule; pruning
// rules 2, 3 and 4 are predicates on them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/chain/chain.h"

namespace fuseflow::cluster {

/// Temporal loops from the outermost to the innermost; every other dimension is spatial.
class LoopSchedule {
 public:
  LoopSchedule() { position_.fill(-1); }
  /// From letters such as "MLK"; throws Error(usage) for another letter or a repeated one.
  static LoopSchedule parse(std::string_view letters);

  void push_inner(Dim dim);
  int loops() const { return loops_; }
  Dim loop(int depth) const { return order_[static_cast<size_t>(depth)]; }
  bool temporal(Dim dim) const { return position(dim) >= 0; }
  /// Depth of the loop, 0 outermost; -1 when the dimension is spatial.
  int position(Dim dim) const { return position_[static_cast<size_t>(dim)]; }
  /// "MLK/N": temporal loops, then the spatial dimensions after the slash.
  std::string name() const;
  bool operator==(const LoopSchedule&) const = default;

 private:
  std::array<Dim, kDims> order_{};
  std::array<int, kDims> position_{};
  int loops_ = 0;
};

/// Every ordered choice of at most three temporal dimensions, by number of loops and then in
/// lexicographic order of M, N, K, L: 1 + 4 + 12 + 24 = 41.
std::vector<LoopSchedule> all_schedules();

/// Pruning rule 3: the accumulation over K is finished before the activation needs C, so K is
/// spatial or the innermost loop, and some other loop encloses it (24 of 41).
bool accumulation_innermost(const LoopSchedule& schedule);

/// The schedules left by both rules.
std::vector<LoopSchedule> pruned_schedules();

/// Every shape of {1,2,4,8,16}^4 in ascending order of (m, n, k, l): 625.
std::vector<ClusterShape> all_cluster_shapes();

/// Pruning rule 2: the blocks of either product fit a cluster (m n k <= 16), the two products agree
/// (l >= k, so that a shuffle group has at least one block), and there is something to link
/// (m n k > 1).
bool shape_allowed(const ClusterShape& shape);

}  // namespace fuseflow::cluster
