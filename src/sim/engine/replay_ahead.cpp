// NodeReplay: what the known steps will take and give, before their times are known.
#include <algorithm>

#include "sim/engine/replay.h"

namespace fuseflow::engine {

/// How many of the next steps, `most` at most, are before the one up to which there are `count`
/// tokens. Takes from `count` those of these steps.
int64_t NodeReplay::steps_before(const TypeCounts& counts, int64_t& count, int64_t most) const {
  const uint8_t* types = mixed_.data() + next_mixed_;
  int64_t steps = 0;
  for (size_t r = run_; r < runs_.size() && steps < most; ++r) {
    const StepRun& run = runs_[r];
    const int64_t n = std::min<int64_t>(run.count, most - steps);
    int64_t before = n;
    if (run.type == StepRun::kMixed) {
      before = counts.find(types, n, count);
      types += run.count;
    } else if (const int64_t each = counts.of(run.type); each > 0) {
      before = std::min(n, (count - 1) / each);
      count -= before * each;
    }
    steps += before;
    if (before < n) break;
  }
  return steps;
}

int64_t NodeReplay::steps_before_give(const Gives* output, int64_t count, int64_t most) const {
  for (size_t o = 0; o < outs_.size(); ++o) {
    if (outs_[o] == output) return steps_before(given_[o], count, most);
  }
  return 0;
}

int64_t NodeReplay::steps_before_request(int64_t most) const {
  int64_t count = 1;
  return steps_before(requested_, count, most);
}

int64_t NodeReplay::token_for(size_t in, int64_t n, uint32_t type) const {
  const int64_t needed = needed_[in].of(type);
  if (needed == 0) return -1;
  int64_t left = INT64_MAX;
  steps_before(taken_[in], left, n);
  return ins_[in]->taken() + (INT64_MAX - left) + needed - 1;
}

int64_t NodeReplay::type_of(int64_t n) const {
  const uint8_t* types = mixed_.data() + next_mixed_;
  for (size_t r = run_; r < runs_.size(); ++r) {
    const StepRun& run = runs_[r];
    const bool mixed = run.type == StepRun::kMixed;
    if (n < run.count) return mixed ? types[n] : run.type;
    if (mixed) types += run.count;
    n -= run.count;
  }
  return -1;
}

}  // namespace fuseflow::engine
