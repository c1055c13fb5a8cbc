// Bounded: sides that need not go from window to window with memory.
#include <algorithm>
#include <utility>

#include "sim/engine/bounded.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kMostPutOff = 4096;  // cycles
}

/// Requests have to be known window by window; what is not needed for that can be done many windows
/// at a time: a side before a reduction or accumulation, until that is about to give something.
void Bounded::put_off() {
  any_put_off_ = false;
  for (const size_t s : patient_) {
    const Side& side = sides_[s];
    const bool needed = horizon_ - settled_[s] > kMostPutOff ||
                        (std::any_of(side.takers.begin(), side.takers.end(),
                                     [&](size_t taker) { return put_off_[taker] == 0; }) &&
                         side.replay->gives_at() < horizon_);
    if (needed) {
      if (put_off_[s] != 0) put_off_no_more(s);
      continue;
    }
    any_put_off_ = true;
    put_off_[s] = 1;
    told_[s] = 0;
    due_[s] = kNever;
  }
}

void Bounded::put_off_no_more(size_t s) {
  put_off_[s] = 0;
  told_[s] = 1;
  note(s);
}

/// At the end of what can be done otherwise. False if none was put off.
bool Bounded::put_off_none() {
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (put_off_[s] != 0) put_off_no_more(s);
  }
  return std::exchange(any_put_off_, false);
}

/// Sides that have been put off, if another one waits for what they take, and all before them;
/// whether there are any.
bool Bounded::call_for_credits() {
  if (!any_put_off_) return false;
  std::vector<size_t> called;
  const auto call = [&](size_t s) {
    if (put_off_[s] == 0) return;
    put_off_no_more(s);
    called.push_back(s);
  };
  for (size_t s = 0; s < sides_.size(); ++s) {
    if (lacks_[s] != kNobody && put_off_[s] == 0) call(lacks_[s]);
  }
  for (size_t c = 0; c < called.size(); ++c) {
    for (const size_t giver : sides_[called[c]].givers) call(giver);
  }
  return !called.empty();
}

}  // namespace fuseflow::engine
