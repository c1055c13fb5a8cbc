// The CSV of a search: everything that was tried (ir-spec/csv.md).
#pragma once

#include <string>

#include "explore/search_result.h"

namespace fuseflow {

/// The last row of a shard that came to its end: without it, and with another number of rows of
/// points than it says, a file is only a part of that shard.
constexpr const char* kShardEnd = "end";

/// What the note of that row says.
std::string rows_of_points(size_t rows);

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result);

}  // namespace fuseflow
