// Which nodes are copied when a loop is split over parallel copies, and what crosses into and out
// of them. Decides only; parallelize.cpp makes the nodes. Private to lower/parallelize.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/spaces.h"
#include "ir/program.h"

namespace fuseflow {

/// What a node becomes.
enum class CopyMode : uint8_t {
  keep,   ///< one node, outside the copies
  copy,   ///< a copy each, giving streams of the copy
  merge,  ///< an accumulate that takes inner fibers out of the split loop: a copy each, whose
          ///< partial results are merged
};

struct SplitPlan {
  int space = -1;
  std::vector<CopyMode> mode;  ///< by node
  std::vector<bool> below;     ///< by space: the split one or nested in it
  bool deep = false;           ///< something inside the split loop is copied
  bool any = false;            ///< something is copied
  std::string obstacle;        ///< why the loop cannot be split; empty if it can
};

/// Writers of dense tensors are copied with what they write: each copy stores its part of the
/// values, in memory or in the scratchpad. `shallow`: nodes of the split loop itself are copied
/// too, not only what is (or depends on what is) nested in it.
SplitPlan plan_split(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
                     int space, bool shallow);

}  // namespace fuseflow
