#include "sim/engine/buffer_tail.h"

#include <algorithm>

namespace fuseflow::engine {

void BufferTail::arrive(const TimeRef& arrivals, const TimeRef& gives, uint32_t n) {
  const std::lock_guard lock(mutex_);
  arrivals_.push_back({arrived_, n, arrivals});
  gives_.push_back({arrived_, n, gives});
  arrived_ += n;
}

void BufferTail::take(size_t consumer, const TimeRef& takes, uint32_t n) {
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

void BufferTail::settle(uint32_t n) {
  const TimeRef gives = gives_.front().at(settled_);
  bool as_given = last_ + interval_ <= gives.at(0);
  for (const Consumer& c : consumers_) as_given = as_given && never_full(c, gives, n);
  const TimeRef real = as_given ? gives : settle_slowly(n);
  if (first_ < 0) first_ = real.at(0);
  last_ = real.at(n - 1);
  // The buffer takes its input when it gives its output.
  input_.add(arrivals_.front().at(settled_).later(-input_latency_), real, n);
  if (record != nullptr && !as_given) {
    for (uint32_t k = 0; k < n; ++k) (*record)[static_cast<size_t>(settled_ + k)].time = real.at(k);
  }
  for (Consumer& c : consumers_) c.occupancy.add(real, c.takes[c.next].at(settled_), n);
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

template <typename Visit>
void BufferTail::for_credits(const Consumer& consumer, uint32_t n, Visit&& visit) const {
  for (const Span& span : consumer.takes) {
    const int64_t first = std::max(span.first + capacity_, settled_);
    const int64_t end = std::min(span.end() + capacity_, settled_ + n);
    if (first >= end) continue;
    visit(static_cast<uint32_t>(first - settled_), span.at(first - capacity_),
          static_cast<uint32_t>(end - first));
  }
}

/// Whether every credit of the batch is there when its token is given without a bound.
bool BufferTail::never_full(const Consumer& consumer, const TimeRef& gives, uint32_t n) const {
  bool good = true;
  for_credits(consumer, n, [&](uint32_t k, const TimeRef& takes, uint32_t count) {
    good = good && leading_good(gives.from(k), takes, count) == count;
  });
  return good;
}

TimeRef BufferTail::settle_slowly(uint32_t n) {
  std::vector<int64_t> arrivals(n);
  std::vector<int64_t> credits(n, INT64_MIN);
  std::vector<int64_t> times_of_piece(n);
  expand(arrivals_.front().at(settled_), n, arrivals.data());
  for (const Consumer& consumer : consumers_) {
    for_credits(consumer, n, [&](uint32_t k, const TimeRef& takes, uint32_t count) {
      expand(takes, count, times_of_piece.data());
      for (uint32_t i = 0; i < count; ++i) {
        credits[k + i] = std::max(credits[k + i], times_of_piece[i] + 1);
      }
    });
  }
  TimesBuilder times(interval_);
  int64_t* out = times.reserve(n);
  int64_t next = last_ + interval_;
  for (uint32_t k = 0; k < n; ++k) {
    const int64_t ready = std::max(next, arrivals[k]);
    const int64_t t = std::max(ready, credits[k]);
    blocked_ += t - ready;
    out[k] = t;
    next = t + interval_;
  }
  for (const Consumer& consumer : consumers_) {
    expand(consumer.takes[consumer.next].at(settled_), n, times_of_piece.data());
    for (uint32_t k = 0; k < n; ++k) {
      too_late_ = too_late_ || out[k] + latency_ > times_of_piece[k];
    }
  }
  times.commit(n);
  timing_steps_ += n;
  return {times.finish(), 0, 0};
}

void BufferTail::fill(NodeStats& stats) const {
  if (first_ < 0) return;
  stats.blocked = blocked_;
  stats.first_step = first_;
  stats.last_step = last_;
}

}  // namespace fuseflow::engine
