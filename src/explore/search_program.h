// The search over one program: estimates all points, simulates those whose lower bound leaves them
// a chance, and puts together the partition of least cost. Here is the order of the steps; what
// each does is in a file of its own. The order of events does not depend on threads (simulation.h).
// A shard knows less than the whole search, so it simulates at least what the whole search would,
// and merging shards decides everything once more from their results.
#pragma once

#include "explore/journal.h"
#include "explore/search_options.h"
#include "explore/search_result.h"

namespace fuseflow {

/// `block`: side of the blocks of the kernels. Points are numbered from `next_id`, which is then
/// after the last number that one may have.
SearchResult search_program(const Program& kernels, int64_t block, const Machine& machine,
                            const SearchOptions& options, const std::vector<Seed>& given,
                            Journal& journal, size_t& next_id);

}  // namespace fuseflow
