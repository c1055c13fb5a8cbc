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

/// No burst of the FIFO with that number, or a later one, is answered before: it takes memory some
/// time, and all answers before the horizon are known.
int64_t Component::answered_from(const Fifo& fifo, int64_t number) const {
  const Gives& bursts = *fifo.source;
  if (number < bursts.known()) return horizon_ - memory_->least_latency();
  int64_t requested = fifo.giver == kNobody ? 0 : gives_from_[fifo.giver];
  if (number < bursts.given) requested = bursts.requested_at(number);
  if (requested == kNever) return kNever;
  return std::max(horizon_, requested + memory_->least_latency());
}

/// What the FIFO lacks for a step is not there before: its token, or the take, of that number.
int64_t Component::lacking_from(const Fifo& fifo, bool credit, int64_t number) const {
  const bool memory = fifo.source->memory != nullptr;
  if (memory && number >= fifo.source->known()) return answered_from(fifo, number);
  const size_t from = credit ? fifo.taker : fifo.giver;
  if (from == kNobody) return 0;
  if (!credit) return gives_from_[from];
  // Of the sides behind only one is looked at.
  const NodeReplay& taker = *sides_[from].replay;
  return taker.blocker() != nullptr && taker.lacks_credit() ? 0 : steps_from(from);
}

/// No step of the side is before, given when the sides before it give something next.
int64_t Component::steps_from(size_t s) const {
  const NodeReplay& replay = *sides_[s].replay;
  switch (replay.state()) {
    case NodeReplay::State::idle:
      return replay.idle() && sides_[s].node->ended() ? kNever : replay.free_at();
    case NodeReplay::State::beyond:
      return replay.wake();
    case NodeReplay::State::waits:
      break;
  }
  if (replay.may_go_on()) return replay.possible_at();
  const Fifo& fifo = *replay.blocker();
  return std::max(lacking_from(fifo, replay.lacks_credit(), replay.lacking()), replay.free_at());
}

/// The horizon as far as no burst is requested before. With bounded FIFOs no node runs that far
/// ahead.
void Component::reach_next_request() {
  if (machine_.fifo_depth > 0) return;
  const int64_t next = next_request();
  if (next != kNever) horizon_ = next;
}

/// No burst is requested before, nor before the horizon.
int64_t Component::next_request() {
  int64_t next = kNever;
  for (size_t s = 0; s < sides_.size(); ++s) gives_from_[s] = 0;
  for (size_t s = 0; s < sides_.size() && next > horizon_; ++s) {
    if (!sides_[s].replay) continue;
    const int64_t from = steps_from(s);
    gives_from_[s] = from == kNever ? kNever : sides_[s].replay->gives_from(from);
    if (sides_[s].asks) next = std::min(next, gives_from_[s]);
  }
  return std::max(next, horizon_);
}

/// No step is before, whatever memory answers: `due` is the earliest that needs no answer, and an
/// answer that no step waits for is not the cause of any.
int64_t Component::quiet_until(int64_t due) const {
  for (const Side& side : sides_) {
    const Fifo* fifo = side.replay ? side.replay->blocker() : nullptr;
    if (fifo == nullptr || fifo->source->memory == nullptr) continue;
    const int64_t number = side.replay->lacking();
    const Gives& bursts = *fifo->source;
    if (number < bursts.known() || number >= bursts.given) continue;
    due = std::min(due, bursts.requested_at(number) + memory_->least_latency());
  }
  return due == kNever ? horizon_ : due;
}

/// Memory serves what was requested before the horizon, or even later if nothing else can be before
/// that; the horizon moves on: no step is before `due` unless memory answers something earlier.
bool Component::next_window(int64_t due) {
  if (!memory_) return false;
  horizon_ = std::max(horizon_, quiet_until(due));
  settled_ = horizon_;
  reach_next_request();  // steps that request nothing may be before that
  answers_.clear();
  memory_->advance(horizon_, answers_);
  for (const MemoryAnswer& answer : answers_) {
    burst_fifos_[answer.port]->source->answer(answer.number, answer.time);
    last_answer_ = std::max(last_answer_, answer.time);
    if (answer.port < waiters_.size() && waiters_[answer.port] != kNobody) {
      tell(waiters_[answer.port]);
    }
  }
  horizon_ += memory_->least_latency();
  for (size_t s = 0; s < due_.size(); ++s) {
    if (due_[s] < horizon_) told_.add(s);
  }
  return true;
}

}  // namespace fuseflow::engine
