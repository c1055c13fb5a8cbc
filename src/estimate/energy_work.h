// Estimated counts as work that energy/ prices.
#pragma once

#include "energy/actions.h"
#include "estimate/costs.h"

namespace fuseflow::estimate {

/// All that is expected.
RegionWork expected_work(const Structure& structure, const Counts& counts, const Machine& machine,
                         const RegionCost& cost);

/// What happens at least: counts of nodes and streams that do not depend on values, the lower bound
/// on the cycles, and no bursts of a model of memory, which may serve several accesses by one.
/// `unknown`: tensors, by TensorId, whose patterns are estimates: nothing is read of them for sure.
RegionWork least_work(const Structure& structure, const Counts& counts, const Machine& machine,
                      const RegionCost& cost, const std::vector<bool>& unknown);

/// Bytes to and from memory that do not depend on values.
double least_dram_bytes(const Structure& structure, const RegionCost& cost,
                        const std::vector<bool>& unknown);

}  // namespace fuseflow::estimate
