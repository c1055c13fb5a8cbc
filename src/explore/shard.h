// The CSVs of the parts that a search was divided into (fuseflow-explore --shard), read back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "explore/identity.h"
#include "explore/point_result.h"

namespace fuseflow {

/// Results in the CSVs of all shards of this search, by the keys of points. Throws Error(rejected)
/// for a file that is no such CSV, or a CSV of another search; for a shard that lacks or is there
/// twice; and for results that no search gives, or in which shards contradict each other.
std::map<uint64_t, PointResult> read_shards(const std::vector<std::string>& paths,
                                            const SearchIdentity& search);

}  // namespace fuseflow
