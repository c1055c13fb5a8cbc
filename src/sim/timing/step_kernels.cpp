#include "sim/timing/step_kernels.h"

#include <algorithm>

#include "support/avx2.h"

namespace fuseflow::engine::loops {

namespace {

/// Where bounds are never nearer to each other than the cost, each step is at its bound.
[[gnu::always_inline]] inline void solve_stretch(const int64_t* bounds, int64_t n, int64_t free_at,
                                                 int64_t cost, int64_t* times) {
  int64_t spare = bounds[0] - free_at;  // negative if there is less than none
  for (int64_t k = 1; k < n; ++k) spare |= bounds[k] - bounds[k - 1] - cost;
  if (spare >= 0) {
    for (int64_t k = 0; k < n; ++k) times[k] = bounds[k];
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    times[k] = std::max(free_at, bounds[k]);
    free_at = times[k] + cost;
  }
}

/// Where no step of a stretch waits, or only the first, its times are a line.
[[gnu::always_inline]] inline void solve_steps(const int64_t* bounds, int64_t n, int64_t free_at,
                                               int64_t cost, int64_t* times) {
  constexpr int64_t kStretch = 16;
  int64_t k = 0;
  for (; k + kStretch <= n; k += kStretch) {
    free_at = std::max(free_at, bounds[k]);
    int64_t slack = 0;  // negative if there is less than none
    for (int64_t i = 0; i < kStretch; ++i) {
      times[k + i] = free_at + i * cost;
      slack |= times[k + i] - bounds[k + i];
    }
    if (slack < 0) solve_stretch(bounds + k, kStretch, free_at, cost, times + k);
    free_at = times[k + kStretch - 1] + cost;
  }
  for (; k < n; ++k) {
    times[k] = std::max(free_at, bounds[k]);
    free_at = times[k] + cost;
  }
}

}  // namespace

void raise(int64_t* to, const int64_t* from, int64_t plus, int64_t n) {
  run_widest([=]() FUSEFLOW_LOOP {
    for (int64_t k = 0; k < n; ++k) to[k] = std::max(to[k], from[k] + plus);
  });
}

void raise_line(int64_t* to, int64_t start, int64_t step, int64_t n) {
  run_widest([=]() FUSEFLOW_LOOP {
    int64_t time = start;
    for (int64_t k = 0; k < n; ++k, time += step) to[k] = std::max(to[k], time);
  });
}

// Bound by memory: nothing to gain from wider registers.
void set(int64_t* to, const int64_t* from, int64_t plus, int64_t n) {
  for (int64_t k = 0; k < n; ++k) to[k] = from[k] + plus;
}

void set_line(int64_t* to, int64_t start, int64_t step, int64_t n) {
  for (int64_t k = 0; k < n; ++k, start += step) to[k] = start;
}

void solve(const int64_t* bounds, int64_t n, int64_t free_at, int64_t cost, int64_t* times) {
  run_widest([=]() FUSEFLOW_LOOP { solve_steps(bounds, n, free_at, cost, times); });
}

int64_t delays(const int64_t* times, const int64_t* arrivals, int64_t n, int64_t free_at,
               int64_t cost) {
  return run_widest([=]() FUSEFLOW_LOOP {
    int64_t sum = times[0] - std::max(arrivals[0], free_at);
    for (int64_t k = 1; k < n; ++k) sum += times[k] - std::max(arrivals[k], times[k - 1] + cost);
    return sum;
  });
}

bool all_before(const int64_t* a, const int64_t* b, int64_t n) {
  return run_widest([=]() FUSEFLOW_LOOP {
    int64_t differences = -1;  // negative as long as all are
    for (int64_t k = 0; k < n; ++k) differences &= a[k] - b[k];
    return differences < 0;
  });
}

}  // namespace fuseflow::engine::loops
