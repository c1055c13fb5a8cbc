#include "sim/functional/port.h"

#include <algorithm>
#include <bit>

#include "sim/functional/run_length.h"

namespace fuseflow::engine {

namespace {
constexpr uint32_t kManyOfFew = 8;
}

void Port::push(const Segment& segment) {
  pushed_.store(pushed_.load(std::memory_order_relaxed) + segment.count, std::memory_order_relaxed);
  if (!elsewhere) return append(Segment(segment));
  const std::lock_guard lock(mutex_);
  inbox_.push_back(segment);
  inbox_size_.store(static_cast<int64_t>(inbox_.size()), std::memory_order_release);
}

void Port::import() {
  if (inbox_size_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  for (Segment& segment : inbox_) append(std::move(segment));
  inbox_.clear();
  inbox_size_.store(0, std::memory_order_relaxed);
}

void Port::append(Segment&& segment) {
  if (observer != nullptr) observer->arrive(segment);
  if (segments_.empty()) next_stop_ = segment.first_stop;
  segments_.push_back(std::move(segment));
}

uint32_t Port::ready() {
  if (segments_.empty()) import();
  if (segments_.empty()) return 0;
  if (segments_.front().count - used_ <= few) coalesce_first();
  if (!takes_run_length && segments_.front().payload.run_length != nullptr)
    expand(segments_.front());
  return segments_.front().count - used_;
}

/// Makes one segment of the short ones at the front, up to some times `few` tokens.
void Port::coalesce_first() {
  if (few == 0 || blocks) return;
  import();
  const uint32_t enough = kManyOfFew * few;
  size_t n = 0;
  uint32_t count = 0;
  for (; n < segments_.size() && segments_[n].count <= few && count < enough; ++n) {
    count += segments_[n].count;
  }
  if (n < 2) return;
  const auto end = segments_.begin() + static_cast<std::ptrdiff_t>(n);
  std::vector<Segment> parts(std::make_move_iterator(segments_.begin()),
                             std::make_move_iterator(end));
  parts.front() = part_of(parts.front(), used_, next_stop_, parts.front().count - used_);
  segments_.erase(segments_.begin(), end);
  segments_.push_front(coalesce(parts));
  used_ = 0;
  next_stop_ = 0;
}

Batch part_of(const Segment& segment, uint32_t first, uint32_t first_stop, uint32_t n) {
  const Stops& stops = segment.structure->stops;
  const uint32_t begin = segment.begin + first;
  const auto from = stops.begin() + first_stop;
  auto to = stops.end();
  if (!stops.empty() && stops.back().at >= begin + n) {
    to = std::lower_bound(from, stops.end(), begin + n,
                          [](const Stop& stop, uint32_t token) { return stop.at < token; });
  }
  return {{segment.structure, begin, n, first_stop, segment.payload.from(first),
           segment.arrivals.from(first)},
          std::span<const Stop>(from, to)};
}

Batch Port::batch(uint32_t n) const {
  return part_of(segments_.front(), used_, next_stop_, n);
}

std::vector<std::shared_ptr<const void>> Port::keepers(uint32_t n) const {
  std::vector<std::shared_ptr<const void>> keepers;
  uint32_t skipped = used_;
  for (const Segment& segment : segments_) {
    if (n == 0) break;
    keepers.push_back(segment.payload.keep);
    n -= std::min(n, segment.count - skipped);
    skipped = 0;
  }
  return keepers;
}

void Port::take(uint32_t n, TimeRef times) {
  while (n > 0) {
    const Segment& s = segments_.front();
    const uint32_t count = std::min(n, s.count - used_);
    if (observer != nullptr) observer->take(s.arrivals.from(used_).later(-latency), times, count);
    take_from_first(count);
    times.offset += count;
    n -= count;
  }
}

void Port::take_from_first(uint32_t n) {
  const Segment& s = segments_.front();
  used_ += n;
  taken_.store(taken_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  if (used_ == s.count) {
    segments_.pop_front();
    used_ = 0;
    if (!segments_.empty()) next_stop_ = segments_.front().first_stop;
    return;
  }
  const Stops& stops = s.structure->stops;
  const uint32_t begin = s.begin + used_;
  while (next_stop_ < stops.size() && stops[next_stop_].at < begin) ++next_stop_;
}

bool PortCursor::next_segment() {
  const size_t next = segment_ + 1;
  if (next >= port_->segments_.size()) port_->import();
  if (next >= port_->segments_.size()) return false;
  segment_ = next;
  Segment& s = port_->segments_[next];
  if (!port_->takes_run_length && s.payload.run_length != nullptr) expand(s);
  k_ = next == 0 ? port_->used_ : 0;
  end_ = s.count;
  begin_ = s.begin;
  words_ = s.payload.words();
  stops_end_ = s.structure->stops.data() + s.structure->stops.size();
  find_stop(s.structure->stops.data() + (next == 0 ? port_->next_stop_ : s.first_stop));
  return true;
}

const TimeRef& long_ago() {
  static const TimeRef times = [] {
    auto all = std::make_shared<Times>();
    all->pieces.push_back({0, kLongAgo, 0});
    all->count = UINT32_MAX;
    return TimeRef{std::move(all), 0, 0};
  }();
  return times;
}

int64_t Port::arrival(uint32_t k) const {
  k += used_;
  size_t s = 0;
  for (; k >= segments_[s].count; ++s) k -= segments_[s].count;
  return segments_[s].arrivals.at(k);
}

void ArrivalCursor::next_segment() {
  const Segment& s = port_->segments_[segment_];
  k_ = segment_ == 0 ? port_->used_ : 0;
  end_ = s.count;
  times_ = TimeCursor(s.arrivals);
  ++segment_;
}

void Output::give_untimed(const Segment& segment) {
  if (segment.count == 0 || ports.empty()) return;
  tokens.store(tokens.load(std::memory_order_relaxed) + segment.count,
               std::memory_order_relaxed);  // the only writer
  Segment untimed;
  for (Port* port : ports) {
    if (!port->untimed) continue;
    if (untimed.count == 0) {
      untimed = segment;
      untimed.arrivals = long_ago();
    }
    port->push(untimed);
  }
}

void Output::give_timed(Segment segment, const TimeRef& times) {
  if (segment.count == 0 || ports.empty()) return;
  segment.arrivals = times.later(latency);
  if (record != nullptr) keep(segment, times);
  for (Port* port : ports) {
    if (!port->untimed) port->push(segment);
  }
}

void Output::keep(Segment segment, const TimeRef& times) {
  if (segment.payload.run_length != nullptr) expand(segment);
  const Stops& stops = segment.structure->stops;
  size_t s = segment.first_stop;
  TimeCursor cursor(times);
  for (uint32_t k = 0; k < segment.count; ++k) {
    TokenRecord token;
    token.time = cursor.at(k);
    if (s < stops.size() && stops[s].at == segment.begin + k) {
      token.stop = stops[s].done() ? TokenRecord::kDone : static_cast<int8_t>(stops[s].level);
      token.closes = !stops[s].done() && stops[s].closes();
      ++s;
    } else if (segment.payload.data != nullptr) {
      token.payload = segment.payload.words()[k];
      if (pool != nullptr) {
        token.payload = std::bit_cast<uint32_t>(*pool->block(token.payload, volume));
      }
    }
    record->push_back(token);
  }
}

}  // namespace fuseflow::engine
