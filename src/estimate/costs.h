// From counts to FLOPs, bytes, tokens and cycles, node by node, as ir-spec/timing.md counts them;
// and to the region's estimated cycles and the lower bound (region_time.h). ir-spec/estimate.md has
// the formulas.
#pragma once

#include <vector>

#include "estimate/counts.h"
#include "estimate/stored_arrays.h"
#include "machine/machine.h"
#include "sim/common/run_counts.h"

namespace fuseflow::estimate {

struct NodeCost {
  double steps = 0;
  double busy = 0;     ///< cycles taken by steps
  double drained = 0;  ///< of an accumulator with two stores: cycles after those, to drain the last
  double least = 0;    ///< busy cycles without the last step, and without what is uncertain
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
  double least_steps = 0;  ///< steps at the interval of its unit, without the last; 0 if uncertain
  double least_bytes = 0;  ///< read or written at least: as if references followed each other
  bool certain = false;    ///< its counts do not depend on values
};

struct RegionCost : RunCounts<double> {
  double cycles = 0;
  double bound = 0;
  NodeId limit = -1;          ///< the node whose steps take longest
  double loaded_bytes = 0;    ///< of the scratchpad's inputs
  double loading_cycles = 0;  ///< of `cycles`, before the first phase
  std::vector<NodeCost> nodes;
};

/// The numbers around node `n`.
NodeNumbers node_numbers(const Structure& structure, const Counts& counts, size_t n);

/// `arrays`: by TensorId.
RegionCost region_cost(const Structure& structure, const Counts& counts, const Machine& machine,
                       const std::vector<StoredArrays>& arrays);

}  // namespace fuseflow::estimate
