// What a run, or an estimate, says of a region: all that a verdict is made from. Pure data.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// What a node did, in cycles (ir-spec/csv.md, "Nodes").
struct NodeFigures {
  bool known = false;
  double busy = 0;
  double memory = 0;
  double starved = 0;
  double blocked = 0;
  double first_step = -1;  ///< its time; below 0: none, or not known
  double last_step = -1;
  double tensor_bytes = 0;  ///< read and written, in memory or on chip
};

struct RegionFigures {
  double cycles = 0;
  double dram_bytes = 0;           ///< of tensors, read and written
  double dram_bursts = 0;          ///< that its channels moved; 0: not known
  bool waits_known = true;         ///< else only `busy` is (an estimate)
  std::vector<NodeFigures> nodes;  ///< by NodeId
  /// By StreamId: cycles for which only its room was missing; empty: not known.
  std::vector<double> stream_blocked;
};

}  // namespace fuseflow
