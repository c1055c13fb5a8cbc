// What a run of a graph would count, before time comes in: elements and stops of every space, and
// the few numbers of nodes that do not follow from them. Filled by exact counting (from the data)
// or from statistics; costs.h turns it into FLOPs, bytes and cycles.
#pragma once

#include <memory>
#include <vector>

#include "estimate/structure.h"
#include "sim/run.h"

namespace fuseflow::estimate {

struct SpaceCount {
  double elements = 1;
  double stops = 0;
  double nonempty = 0;  ///< fibers of the space that have elements
  double tokens() const { return elements + stops + 1; }
};

struct NodeCount {
  double present = 0;     ///< scan, locate, array: references that are not N
  double successors = 0;  ///< scan, locate: of these, follow the reference before
  double probes = 0;      ///< locate in a compressed level: of the binary searches
  double met = 0;         ///< joins: coordinates met
  double words = 0;       ///< scan of a bitvector: words read
  double fibers = 0;      ///< write_level: fibers of the stored level
  double stored = 0;      ///< writers: coordinates or values stored
};

struct Counts {
  std::vector<SpaceCount> space;  ///< by space
  std::vector<NodeCount> node;    ///< by NodeId
  /// By space: independent of values, so that lower bounds may rest on it.
  std::vector<bool> certain;
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

}  // namespace fuseflow::estimate
