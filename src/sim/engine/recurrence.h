// The recurrence of steps of one type over rings of times, specialised by how many of them there are:
// t = max(t before + cost, arrivals, credits + 1). Pure loops; replay.h knows what they mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuseflow::engine {

/// Times to be read (arrivals, credits) or written (takes, gives), one a step.
struct Lane {
  int64_t* times;
  size_t mask;
  int64_t index;
  int64_t stride;
  int64_t plus;
  int64_t& at(int64_t k) const { return times[static_cast<size_t>(index + k * stride) & mask]; }
};

struct Lanes {
  static constexpr int kMost = 16;
  Lane in[kMost];
  Lane credit[kMost];
  Lane store[2 * kMost];
  int ins = 0;
  int credits = 0;
  int stores = 0;
};

struct Progress {
  int64_t free_at = 0;
  int64_t last = -1;
  int64_t blocked = 0;
  int64_t next = 0;  ///< time of the step that is not before the horizon
};

/// Does up to n steps before the horizon; how many. kIn, kCredit, kStore: numbers of lanes known at compile
/// time, or -1.
template <int kIn, int kCredit, int kStore>
int64_t run_steps(const Lanes& lanes, int64_t n, int64_t cost, int64_t horizon, Progress& p) {
  const int ins = kIn >= 0 ? kIn : lanes.ins;
  const int credits = kCredit >= 0 ? kCredit : lanes.credits;
  const int stores = kStore >= 0 ? kStore : lanes.stores;
  int64_t k = 0;
  int64_t t = p.last;
  int64_t free_at = p.free_at;
  int64_t blocked = 0;
  for (; k < n; ++k) {
    int64_t ready = free_at;
    for (int l = 0; l < ins; ++l) ready = std::max(ready, lanes.in[l].at(k) + lanes.in[l].plus);
    int64_t step = ready;
    for (int l = 0; l < credits; ++l) step = std::max(step, lanes.credit[l].at(k) + 1);
    if (step >= horizon) {
      p.next = step;
      break;
    }
    t = step;
    for (int l = 0; l < stores; ++l) lanes.store[l].at(k) = t;
    if (credits > 0) blocked += t - ready;
    free_at = t + cost;
  }
  p.last = t;
  p.free_at = free_at;
  p.blocked += blocked;
  return k;
}

/// The same where nothing is waited for.
inline int64_t run_freely(const Lanes& lanes, int64_t n, int64_t cost, int64_t horizon, Progress& p) {
  if (p.free_at + (n - 1) * cost >= horizon) {
    const int64_t before = p.free_at >= horizon ? 0 : (horizon - p.free_at + cost - 1) / cost;
    p.next = p.free_at + before * cost;
    n = before;
  }
  for (int l = 0; l < lanes.stores; ++l) {
    const Lane& lane = lanes.store[l];
    const auto size = static_cast<int64_t>(lane.mask) + 1;
    int64_t* ring = lane.times;
    for (int64_t k = 0; k < n;) {
      const int64_t at = (lane.index + k) & static_cast<int64_t>(lane.mask);
      const int64_t end = std::min(n, k + size - at);
      int64_t* out = ring + at;
      const int64_t start = p.free_at + k * cost;
      for (int64_t i = 0; i < end - k; ++i) out[i] = start + i * cost;
      k = end;
    }
  }
  if (n == 0) return 0;
  p.last = p.free_at + (n - 1) * cost;
  p.free_at += n * cost;
  return n;
}

/// The same with the specialisation that fits.
inline int64_t run_steps_of(const Lanes& lanes, int64_t n, int64_t cost, int64_t horizon,
                            Progress& p) {
  using Run = int64_t (*)(const Lanes&, int64_t, int64_t, int64_t, Progress&);
  static constexpr Run kRuns[3][3][4] = {
      {{run_steps<0, 0, 0>, run_steps<0, 0, 1>, run_steps<0, 0, 2>, run_steps<0, 0, 3>},
       {run_steps<0, 1, 0>, run_steps<0, 1, 1>, run_steps<0, 1, 2>, run_steps<0, 1, 3>},
       {run_steps<0, 2, 0>, run_steps<0, 2, 1>, run_steps<0, 2, 2>, run_steps<0, 2, 3>}},
      {{run_steps<1, 0, 0>, run_steps<1, 0, 1>, run_steps<1, 0, 2>, run_steps<1, 0, 3>},
       {run_steps<1, 1, 0>, run_steps<1, 1, 1>, run_steps<1, 1, 2>, run_steps<1, 1, 3>},
       {run_steps<1, 2, 0>, run_steps<1, 2, 1>, run_steps<1, 2, 2>, run_steps<1, 2, 3>}},
      {{run_steps<2, 0, 0>, run_steps<2, 0, 1>, run_steps<2, 0, 2>, run_steps<2, 0, 3>},
       {run_steps<2, 1, 0>, run_steps<2, 1, 1>, run_steps<2, 1, 2>, run_steps<2, 1, 3>},
       {run_steps<2, 2, 0>, run_steps<2, 2, 1>, run_steps<2, 2, 2>, run_steps<2, 2, 3>}}};
  if (lanes.ins == 0 && lanes.credits == 0) return run_freely(lanes, n, cost, horizon, p);
  if (lanes.ins < 3 && lanes.credits < 3 && lanes.stores < 4) {
    return kRuns[lanes.ins][lanes.credits][lanes.stores](lanes, n, cost, horizon, p);
  }
  return run_steps<-1, -1, -1>(lanes, n, cost, horizon, p);
}

}  // namespace fuseflow::engine
