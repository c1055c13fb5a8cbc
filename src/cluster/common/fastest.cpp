#include "cluster/common/fastest.h"

#include <algorithm>

namespace fuseflow::cluster {

Fastest find_fastest(size_t candidates, const std::function<int64_t(size_t)>& least,
                     const std::function<Trial(size_t candidate, int64_t most)>& simulate,
                     const Effort& effort, int64_t to_beat) {
  Fastest fastest;
  int64_t best = to_beat;
  SearchLog& log = fastest.log;
  log.candidates = static_cast<int64_t>(candidates);
  const int64_t looked_at =
      effort.most > 0 ? std::min(effort.most, log.candidates) : log.candidates;
  for (size_t i = 0; i < candidates; ++i) {
    const int64_t bound = least(i);
    if (best > 0 && bound >= best) {
      ++log.bounded;
      continue;
    }
    const bool spent = best > 0 && log.operations >= effort.operations;
    if (spent || static_cast<int64_t>(i) >= looked_at) {
      log.least_left = log.left++ == 0 ? bound : std::min(log.least_left, bound);
      continue;
    }
    const Trial trial = simulate(i, best > 0 ? best - 1 : 0);
    ++log.simulated;
    log.operations += trial.operations;
    if (trial.finished && (best == 0 || trial.cycles < best)) {
      fastest.at = i;
      fastest.cycles = best = trial.cycles;
      fastest.found = true;
    }
  }
  return fastest;
}

}  // namespace fuseflow::cluster
