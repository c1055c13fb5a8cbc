// Inner loops over steps and their times, with AVX2 versions chosen at run time. Results do not
// depend on the version.
#pragma once

#include <cstdint>

namespace fuseflow::engine::loops {

/// to[k] = from[k] + plus.
void set(int64_t* to, const int64_t* from, int64_t plus, int64_t n);
/// to[k] = start + step * k.
void set_line(int64_t* to, int64_t start, int64_t step, int64_t n);
/// to[k] = max(to[k], start + step * k).
void raise_line(int64_t* to, int64_t start, int64_t step, int64_t n);
/// to[k] = max(to[k], from[k] + plus).
void raise(int64_t* to, const int64_t* from, int64_t plus, int64_t n);

/// times[k] = max(bounds[k], times[k-1] + cost); the first is `free_at` at least.
void solve(const int64_t* bounds, int64_t n, int64_t free_at, int64_t cost, int64_t* times);

/// The sum of times[k] - max(arrivals[k], times[k-1] + cost); the first is `free_at` at least.
int64_t delays(const int64_t* times, const int64_t* arrivals, int64_t n, int64_t free_at,
               int64_t cost);

/// Whether a[k] < b[k] for all k < n.
bool all_before(const int64_t* a, const int64_t* b, int64_t n);

}  // namespace fuseflow::engine::loops
