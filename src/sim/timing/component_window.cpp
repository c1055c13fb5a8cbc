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
    const Gives& bursts = *fifo->source;
    if (number < bursts.known() || number >= bursts.given) continue;
    due = std::min(due, bursts.requested_at(number) + memory_->memory->least_latency());
  }
  return due == kNever ? horizon_ : due;
}

/// Moves the horizon on to the time before which no step can happen, if that is later; lets memory
/// serve what was requested before it; then moves it on by the least latency, since no other
/// request is answered earlier. No step is before `due` unless memory answers something earlier.
/// False without a memory.
bool Component::next_window(int64_t due) {
  if (memory_ == nullptr) return false;
  Memory& memory = *memory_->memory;
  horizon_ = settled_ = memory_->horizon = std::max(horizon_, quiet_until(due));
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
