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

/// No step is before, whatever memory answers: `due` is the earliest that needs no answer, and an
/// answer that no step waits for is not the cause of any.
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

/// Memory serves what was requested before the horizon, or even later if nothing else can be before
/// that; the horizon moves on: no step is before `due` unless memory answers something earlier.
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
