// Bounded: sides that need not go from window to window with memory.
#include <algorithm>
#include <utility>

#include "sim/engine/bounded.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kMostPutOff = 4096;  // cycles
constexpr int64_t kMostLooked = 512;   // steps
constexpr int kDeepest = 8;            // sides one behind the other
}  // namespace

/// The n-th next step of a side is not before: the tokens that it needs have to be given, by steps
/// that need others. Looks at so many sides one behind the other.
int64_t Bounded::step_from(size_t s, int64_t n, int depth) const {
  const NodeReplay& replay = *sides_[s].replay;
  int64_t from = replay.free_at() + replay.queue().cost_of(n);
  if (!replay.queue().knows(n)) return from;
  for (const StepPorts::In& in : replay.connected_inputs()) {
    const Fifo& fifo = *in.fifo;
    const int64_t ahead = replay.queue().needed_by(in.lane, n);
    const int64_t token = ahead < 0 ? -1 : fifo.taken() + ahead;
    if (token < 0) continue;
    if (token < fifo.source->known()) {
      from = std::max(from, fifo.arrival(token - fifo.taken()));
    } else if (fifo.source->memory != nullptr) {
      from = std::max(from, answered_from(fifo, token));
    } else if (fifo.giver != kNobody && depth > 0) {
      const NodeReplay& giver = *sides_[fifo.giver].replay;
      const int64_t missing = token - fifo.source->given + 1;
      const int64_t before = giver.steps_before_give(fifo.source, missing, kMostLooked);
      from = std::max(from, step_from(fifo.giver, before, depth - 1));
      depth = 0;  // one way back is looked at
    }
  }
  return from;
}

/// Whether a writer may request a burst before the horizon.
bool Bounded::asks_soon(size_t s) {
  int64_t& from = asks_from_[s];
  if (from >= horizon_) return false;
  const NodeReplay& replay = *sides_[s].replay;
  from = replay.idle() ? replay.free_at()
                       : step_from(s, replay.steps_before_request(kMostLooked), kDeepest);
  return from < horizon_;
}

/// Requests have to be known window by window; what is not needed for that can be done many windows
/// at a time: a side before a reduction or accumulation, until that is about to give something.
void Bounded::put_off() {
  any_put_off_ = false;
  for (const size_t s : patient_) {
    const Side& side = sides_[s];
    const bool soon = side.asks ? asks_soon(s)
                                : std::any_of(side.takers.begin(), side.takers.end(),
                                              [&](size_t taker) { return put_off_[taker] == 0; }) &&
                                      side.replay->gives_from(side.replay->free_at()) < horizon_;
    const bool needed = soon || horizon_ - settled_[s] > kMostPutOff;
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
