#include "sim/timing/buffer_model.h"

#include <algorithm>

namespace fuseflow::engine {

void BufferModel::arrive(const TimeRef& arrivals, const TimeRef& gives, uint32_t n) {
  const std::lock_guard lock(mutex_);
  arrivals_.push_back({arrived_, n, arrivals});
  gives_.push_back({arrived_, n, gives});
  arrived_ += n;
}

void BufferModel::take(size_t consumer, const TimeRef& takes, uint32_t n) {
  const std::lock_guard lock(mutex_);
  Consumer& taker = consumers_[consumer];
  taker.takes.push_back({taker.taken, n, takes});
  taker.taken += n;
  for (;;) {
    // The next stretch whose takes are known and do not change their piece.
    int64_t end = arrivals_.empty() ? settled_ : arrivals_.front().end();
    for (const Consumer& c : consumers_) {
      end = std::min(end, c.next < c.takes.size() ? c.takes[c.next].end() : settled_);
    }
    if (end <= settled_) return;
    settle(static_cast<uint32_t>(end - settled_));
  }
}

void BufferModel::settle(uint32_t n) {
  const TimeRef gives = gives_.front().at(settled_);
  find_credits(n);
  const bool as_given = pace_.next() <= gives.at(0) && never_wait(gives, credits_);
  TimeRef real = gives;
  if (as_given) {
    pace_.stepped_at(gives.at(n - 1));
  } else {
    const TimeRef arrivals = arrivals_.front().at(settled_);
    real = step_times_with_credits(pace_, std::span(&arrivals, 1), credits_, n, {blocked_, stalls});
    for (const Consumer& c : consumers_) {
      if (!never_later(real.later(latency_), c.takes[c.next].at(settled_), n)) too_late_ = true;
    }
  }
  if (first_ < 0) first_ = real.at(0);
  if (activity != nullptr) note_busy(*activity, real, n, pace_.interval);
  // The buffer takes its input when it gives its output.
  input_.add(arrivals_.front().at(settled_).later(-input_latency_), real, n);
  if (record != nullptr && !as_given) {
    for (uint32_t k = 0; k < n; ++k) put_right_.emplace_back(settled_ + k, real.at(k));
  }
  for (Consumer& c : consumers_) c.occupancy.add(real, c.takes[c.next].at(settled_), n);
  forget(n);
}

void BufferModel::forget(uint32_t n) {
  settled_ += n;
  if (arrivals_.front().end() == settled_) {
    arrivals_.pop_front();
    gives_.pop_front();
  }
  for (Consumer& c : consumers_) {
    if (c.takes[c.next].end() == settled_) ++c.next;
    while (c.next > 0 && c.takes.front().end() <= settled_ - capacity_) {
      c.takes.pop_front();
      --c.next;
    }
  }
}

/// The takes `capacity_` tokens before the next n.
void BufferModel::find_credits(uint32_t n) {
  credits_.clear();
  for (const Consumer& consumer : consumers_) {
    for (const Span& span : consumer.takes) {
      const int64_t first = std::max(span.first + capacity_, settled_);
      const int64_t end = std::min(span.end() + capacity_, settled_ + n);
      if (span.first + capacity_ >= settled_ + n) break;
      if (first >= end) continue;
      credits_.push_back({static_cast<uint32_t>(first - settled_),
                          static_cast<uint32_t>(end - first), span.at(first - capacity_)});
    }
  }
}

void BufferModel::fill(NodeStats& stats) const {
  if (first_ < 0) return;
  stats.blocked = blocked_;
  stats.first_step = first_;
  stats.last_step = pace_.last;
  for (const auto& [token, time] : put_right_) (*record)[static_cast<size_t>(token)].time = time;
}

}  // namespace fuseflow::engine
