// What a search found, for people: a few lines beside the CSV of everything that was tried.
#pragma once

#include <string>

#include "explore/search_result.h"

namespace fuseflow {

/// `why_unvisited`: why points were left out, where some were.
std::string search_summary(const Program& kernels, const Machine& machine,
                           const SearchResult& result, const std::string& why_unvisited);

}  // namespace fuseflow
