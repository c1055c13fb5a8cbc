// An order in which everything comes after what it needs.
#pragma once

#include <cstddef>
#include <vector>

namespace fuseflow {

/// The numbers 0 .. needs.size() - 1, each after all of `needs[number]`, else as they are: of those
/// that may come next, the least comes. A number may be needed twice. Shorter where some need
/// themselves, directly or not: they, and what needs them, are left out. O((n + needs) log n).
std::vector<size_t> dependency_order(const std::vector<std::vector<size_t>>& needs);

/// The least of 0 .. count - 1 that `order` leaves out; `count` where it has all.
size_t first_left_out(const std::vector<size_t>& order, size_t count);

}  // namespace fuseflow
