// The CSV of a search: everything that was tried (ir-spec/csv.md).
#pragma once

#include <string>

#include "explore/search_result.h"

namespace fuseflow {

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result);

}  // namespace fuseflow
