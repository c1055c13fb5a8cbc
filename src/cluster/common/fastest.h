// Finds the fastest of many candidates by simulating as few of them as bounds allow. Knows nothing
// of what the candidates are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fuseflow::cluster {

/// How much may be simulated. The same effort gives the same result on any host.
struct Effort {
  int64_t operations = int64_t{1} << 24;  ///< tile operations, of all candidates together; what is
                                          ///< under way when they are spent goes on to its end
  int64_t most = 0;                       ///< candidates looked at; 0: all
};

/// What became of the candidates.
struct SearchLog {
  int64_t candidates = 0;
  int64_t simulated = 0;   ///< to the end or until they were slower than the best
  int64_t bounded = 0;     ///< left out: their bound was not below the best
  int64_t left = 0;        ///< not looked at, because the effort was spent
  int64_t least_left = 0;  ///< the lowest bound of those; no candidate at all is faster than the
                           ///< lower of this and the best
  int64_t operations = 0;  ///< simulated
};

/// One simulation.
struct Trial {
  int64_t cycles = 0;
  int64_t operations = 0;
  bool finished = true;
};

struct Fastest {
  size_t at = 0;
  int64_t cycles = 0;
  bool found = false;
  SearchLog log;
};

/// Candidates in the order in which they are looked at, so best guesses first. `least` is a lower
/// bound of a candidate's cycles; `simulate` may stop unfinished once it has taken more than `most`
/// cycles (0: any number). Of two equally fast ones the first is kept. `to_beat`: cycles of what
/// another search found, which a candidate has to be below; 0: there is none.
Fastest find_fastest(size_t candidates, const std::function<int64_t(size_t)>& least,
                     const std::function<Trial(size_t candidate, int64_t most)>& simulate,
                     const Effort& effort, int64_t to_beat = 0);

}  // namespace fuseflow::cluster
