// Makes one graph of the phases of a region (phase.h).
#pragma once

#include <memory>
#include <vector>

#include "lower/phase.h"

namespace fuseflow {

/// A phase of a region: what was lowered, maybe for another region or in another place of this one,
/// and what its numbers name here.
struct PhasePart {
  int phase = 0;
  std::shared_ptr<LoweredPhase> lowered;
  PhaseNames names;
};

struct JoinedPhases {
  Graph graph;
  std::vector<int> loop_indices;  ///< by index of the graph: of the region; -1: of one iteration
  std::vector<size_t> origins;    ///< by node: the statement that first needed it
  std::vector<JoinPlace> join_places;
};

/// Phases ascend. Nodes stand by phase; streams, too, those that buffers give after all others;
/// loops in the order in which streams are in them. Throws Error(rejected) where the phases had
/// more than `max_nodes` nodes. `indices`: of the region.
JoinedPhases join_phases(const std::vector<RegionIndex>& indices,
                         const std::vector<PhasePart>& parts, bool buffers, size_t max_nodes);

}  // namespace fuseflow
