// What --trace shows of a region beside its nodes: how many of them were busy, waited for memory,
// were starved and blocked,
// tokens in flight, bytes of memory a cycle; over time, in a bounded number of intervals.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "sim/common/run_result.h"

namespace fuseflow {

/// Cycles of an activity by intervals of `interval` cycles, a power of two from its own on.
std::vector<int64_t> rebinned(const Activity& activity, int64_t interval);

/// The least power of two with which so many intervals at most cover the cycles.
int64_t covering_interval(int64_t cycles, int64_t most);

/// One interval of a region. Averages over its cycles.
struct TimelineSample {
  double busy = 0, memory = 0, starved = 0, blocked = 0;  ///< nodes
  double tokens = 0;      ///< in streams, at the end of the interval
  double dram_bytes = 0;  ///< a cycle
};

/// By interval. Tokens and bytes of a node are taken as spread evenly over its busy cycles.
std::vector<TimelineSample> timeline_of(const Graph& graph, const RunResult& result,
                                        int64_t interval);

}  // namespace fuseflow
