// Exact counts (counts.h, estimate.h) with a bound on the work: for choices among programs of which
// some would take far more to be counted than others take to run.
#pragma once

#include "estimate/counts.h"
#include "estimate/estimate.h"

namespace fuseflow {
namespace estimate {

/// Makes at most so many rows of relations (relations.h), which it takes from `rows_left`; throws
/// Error(unfinished) where more are needed.
ExactCounts count_within(size_t& rows_left, const Program& program, const Graph& graph,
                         const TensorData& data, const std::vector<bool>& uncertain);

/// The same of the graph of one phase, which reads what `earlier` ones have written: not given
/// again.
ExactCounts count_part(size_t& rows_left, const Program& program, const Graph& graph,
                       const TensorData& data, const std::vector<bool>& uncertain,
                       const std::vector<Written>& earlier);

/// What is thrown then.
[[noreturn]] void refuse_rows();

class PhaseCounts;

}  // namespace estimate

/// estimate_region_into with the same bound, without energy, area and the bounds on energy and
/// bytes, which take as long again as the rest. `known`: phases that were counted before.
RegionEstimate time_region_within(size_t& rows_left, const Program& program, const Region& region,
                                  TensorData& data, std::vector<bool>& uncertain,
                                  const Machine& machine, estimate::PhaseCounts& known);

/// estimate_region_from_statistics without these, too.
RegionEstimate time_region_from_statistics(const Program& program, const Region& region,
                                           std::vector<estimate::TensorStatistics>& known,
                                           const Machine& machine);

}  // namespace fuseflow
