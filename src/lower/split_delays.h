// How far streams of a split loop are delayed against each other. A copy ends an element only when
// it sees its next one (scans look one token ahead), so what copies give comes late against what
// went around them, and bounded FIFOs between the two would fill up. Private to lower/parallelize,
// which puts buffers where this says.
#pragma once

#include <vector>

#include "lower/split_plan.h"

namespace fuseflow {

class SplitDelays {
 public:
  SplitDelays(const Graph& graph, const Spaces& spaces, const SplitPlan& plan,
              const Parallel& parallel);

  /// By how many tokens of the split loop a stream outside of the copies comes after the first one
  /// that is dealt out.
  int64_t outside(StreamId s) const;
  /// outside() of the latest input of a node, of those in the split loop; 0 if there are none.
  int64_t latest(const Node& node) const;
  /// outside() of the latest stream that is dealt out.
  int64_t dealt() const { return dealt_; }
  /// Tokens that may pass before a stream that waited for a reduction is there: coordinates that
  /// say where its elements go wait as long.
  int64_t reduction() const { return reduction_; }
  /// reduction() where the machine has no room for buffers as deep as lowered.
  int64_t least_reduction() const { return least_reduction_; }
  /// Tokens that a copy must be able to leave waiting while others are dealt theirs; 0: a few.
  int64_t share() const { return share_; }

 private:
  const Graph& graph_;
  const Spaces& spaces_;
  const SplitPlan& plan_;
  int64_t turn_ = 0;  ///< tokens until a copy that has got one gets its next one
  int64_t dealt_ = 0;
  int64_t share_ = 0;
  int64_t reduction_ = 0;
  int64_t least_reduction_ = 0;
  std::vector<int64_t> behind_;  ///< by stream; of what copies give, before it is put back in order
};

}  // namespace fuseflow
