#include "cluster/fastest.h"

#include <algorithm>

namespace fuseflow::cluster {

Fastest find_fastest(size_t candidates, const std::function<int64_t(size_t)>& least,
                     const std::function<Trial(size_t candidate, int64_t most)>& simulate,
                     const Effort& effort) {
  Fastest fastest;
  SearchLog& log = fastest.log;
  log.candidates = static_cast<int64_t>(candidates);
  const int64_t looked_at =
      effort.most > 0 ? std::min(effort.most, log.candidates) : log.candidates;
  for (size_t i = 0; i < candidates; ++i) {
    const int64_t bound = least(i);
    if (fastest.found && bound >= fastest.cycles) {
      ++log.bounded;
      continue;
    }
    const bool spent = fastest.found && log.operations >= effort.operations;
    if (spent || static_cast<int64_t>(i) >= looked_at) {
      log.least_left = log.left++ == 0 ? bound : std::min(log.least_left, bound);
      continue;
    }
    const Trial trial = simulate(i, fastest.found ? fastest.cycles - 1 : 0);
    ++log.simulated;
    log.operations += trial.operations;
    if (trial.finished && (!fastest.found || trial.cycles < fastest.cycles)) {
      fastest.at = i;
      fastest.cycles = trial.cycles;
      fastest.found = true;
    }
  }
  return fastest;
}

}  // namespace fuseflow::cluster
