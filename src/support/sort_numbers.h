// Sorting whole numbers by their digits: faster than by comparisons where there are many. Nothing
// else.
#pragma once

#include <cstdint>
#include <vector>

namespace fuseflow {

/// Ascending.
void sort_numbers(std::vector<uint64_t>& numbers);

}  // namespace fuseflow
