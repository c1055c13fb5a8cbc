// Component: how far memory can go at a time.
#include <algorithm>

#include "sim/timing/component.h"

namespace fuseflow::engine {

int64_t Component::first_due() const {
  return *std::min_element(due_.begin(), due_.end());
}

bool Component::unanswered() const {
  return std::any_of(burst_fifos_.begin(), burst_fifos_.end(),
                     [](const Fifo* fifo) { return fifo->source->known() < fifo->source->given; });
}

/// A time before which no step happens, whatever memory answers: the least of `due` (the earliest
/// step that needs no answer) and of the earliest times of the answers that steps wait for. Other
/// answers cause no step. The horizon if there is neither.
int64_t Component::quiet_until(int64_t due) const {
  for (const Side& side : sides_) {
    const Fifo* fifo = side.replay.blocker();
    if (fifo == nullptr || fifo->source->memory == nullptr) continue;
    const int64_t number = side.replay.lacking();
    const OutputTimes& bursts = *fifo->source;
    if (number < bursts.known() || number >= bursts.given) continue;
    due = std::min(due, bursts.requested_at(number) + memory_->memory->least_latency());
  }
  return due == kNever ? horizon_ : due;
}

/// What a waiting side lacks (lacks_credit, lacking) is not there before.
int64_t Component::lacks_until(const NodeReplay& replay) const {
  const Fifo& fifo = *replay.blocker();
  const OutputTimes& gives = *fifo.source;
  const int64_t number = replay.lacking();
  if (gives.memory != nullptr && number >= gives.known()) {  // an answer, or the take of one
    const int64_t requested = number < gives.given ? gives.requested_at(number) : given_from(gives);
    if (requested == kNever) return kNever;
    return std::max(horizon_, requested + memory_->memory->least_latency());
  }
  if (!replay.lacks_credit()) return given_from(gives);
  if (fifo.taker == kNobody) return 0;
  // One taker is looked at, not what it waits for in turn if that is room, too.
  const NodeReplay& taker = sides_[fifo.taker].replay;
  return taker.blocker() != nullptr && taker.lacks_credit() ? 0 : steps_from(fifo.taker);
}

/// The next step of side `s` is not before, if those of the sides before it are as in steps_from_.
int64_t Component::steps_from(size_t s) const {
  const NodeReplay& replay = sides_[s].replay;
  if (due_[s] != kNever || replay.blocker() == nullptr) return due_[s];
  return std::max(replay.free_at(), lacks_until(replay));
}

/// A time before which no burst is requested, not before the horizon.
int64_t Component::next_request() {
  std::fill(steps_from_.begin(), steps_from_.end(), 0);
  int64_t next = kNever;
  for (size_t s = 0; s < sides_.size() && next > horizon_; ++s) {
    steps_from_[s] = steps_from(s);
    if (sides_[s].asks) next = std::min(next, steps_from_[s]);
  }
  return next == kNever ? horizon_ : std::max(next, horizon_);
}

/// Moves the horizon on to the time before which no step can happen, if that is later, and on to
/// the one before which none requests a burst; lets memory serve what was requested before it; then
/// moves it on by the least latency, since no other request is answered earlier. No step is before
/// `due` unless memory answers something earlier. False without a memory.
bool Component::next_window(int64_t due) {
  if (memory_ == nullptr) return false;
  stop_.step();
  Memory& memory = *memory_->memory;
  horizon_ = settled_ = std::max(horizon_, quiet_until(due));
  // With bounded FIFOs sides hold each other up before that: it finds nothing there.
  if (machine_.fifo_depth == 0) horizon_ = next_request();
  memory_->horizon = horizon_;
  answers_.clear();
  memory.advance(horizon_, answers_);
  for (const MemoryAnswer& answer : answers_) {
    burst_fifos_[answer.port]->source->answer(answer.number, answer.time);
    memory_->last_answer = std::max(memory_->last_answer, answer.time);
    if (waiters_[answer.port] != kNobody) wake(waiters_[answer.port]);
  }
  horizon_ += memory.least_latency();
  for (size_t s = 0; s < due_.size(); ++s) {
    if (due_[s] < horizon_) woken_[s] = 1;
  }
  return true;
}

}  // namespace fuseflow::engine
