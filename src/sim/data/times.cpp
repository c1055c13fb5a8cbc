#include "sim/data/times.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/ceil_div.h"

namespace fuseflow::engine {

namespace {

constexpr size_t kMaxInputs = 64;

/// Index of the piece that holds token k.
uint32_t piece_of(const Times& times, uint32_t k) {
  if (times.pieces.size() == 1) return 0;
  const auto it =
      std::upper_bound(times.pieces.begin(), times.pieces.end(), k,
                       [](uint32_t token, const TimePiece& piece) { return token < piece.first; });
  return static_cast<uint32_t>(it - times.pieces.begin()) - 1;
}

/// The inputs that can delay a step, equal ones once (with the larger delta).
struct Active {
  std::array<TimeRef, kMaxInputs> refs;
  size_t count = 0;

  void add(const TimeRef& ref) {
    for (size_t i = 0; i < count; ++i) {
      if (refs[i].times == ref.times && refs[i].offset == ref.offset) {
        refs[i].delta = std::max(refs[i].delta, ref.delta);
        return;
      }
    }
    if (count < kMaxInputs) refs[count++] = ref;
  }
};

/// A straight line over tokens 0..n-1.
struct Line {
  int64_t start;
  int64_t step;
  int64_t at(int64_t k) const { return start + step * k; }
};

/// The line that is the largest at token 0 and for how many tokens it stays so (at most n).
Line upper_line(std::span<const Line> lines, uint32_t& n) {
  Line top = lines[0];
  for (const Line& line : lines) {
    if (line.start > top.start || (line.start == top.start && line.step > top.step)) top = line;
  }
  for (const Line& line : lines) {
    if (line.step <= top.step) continue;
    const int64_t late = top.start - line.start;
    const int64_t meet = late / (line.step - top.step) + 1;  // first token where it is larger
    n = static_cast<uint32_t>(std::min<int64_t>(n, meet));
  }
  return top;
}

/// t[k] = max(t[k-1] + interval, line[k]) for n tokens, into the builder.
void follow_line(Pace& pace, const Line& line, uint32_t n, TimesBuilder& out) {
  const int64_t earliest = pace.next();
  uint32_t late = 0;  // tokens for which the node cannot keep up with the line
  if (earliest > line.start) {
    late = n;
    if (line.step > pace.interval) {
      const int64_t rate = line.step - pace.interval;
      late = static_cast<uint32_t>(std::min<int64_t>(n, ceil_div(earliest - line.start, rate)));
    }
  } else if (line.step < pace.interval) {
    out.append(n, line.start, pace.interval);
    pace.stepped_at(line.start + pace.interval * static_cast<int64_t>(n - 1));
    return;
  }
  if (late > 0) {
    out.append(late, earliest, pace.interval);
    pace.stepped_at(earliest + pace.interval * static_cast<int64_t>(late - 1));
  }
  if (late < n) {
    out.append(n - late, line.at(late), line.step);
    pace.stepped_at(line.at(n - 1));
  }
}

/// The same for explicit arrivals, in place.
void follow_values(Pace& pace, int64_t* values, uint32_t n) {
  int64_t t = pace.next();
  const int64_t interval = pace.interval;
  for (uint32_t k = 0; k < n; ++k) {
    t = std::max(t, values[k]);
    values[k] = t;
    t += interval;
  }
  pace.stepped_at(t - interval);
}

void max_into(int64_t* out, TimeCursor& cursor, uint32_t k, uint32_t n, bool first) {
  const int64_t start = cursor.at(k);
  if (cursor.step() != kExplicit) {
    const int64_t step = cursor.step();
    for (uint32_t i = 0; i < n; ++i) {
      const int64_t v = start + step * static_cast<int64_t>(i);
      out[i] = first ? v : std::max(out[i], v);
    }
    return;
  }
  const int64_t* values = cursor.values(k);
  const int64_t delta = cursor.delta();
  if (first) {
    for (uint32_t i = 0; i < n; ++i) out[i] = values[i] + delta;
  } else {
    for (uint32_t i = 0; i < n; ++i) out[i] = std::max(out[i], values[i] + delta);
  }
}

/// Calls linear(line, count) and explicit_values(k, count) over stretches in which no input changes
/// between run and explicit.
template <typename Linear, typename Explicit>
void for_stretches(const Active& active, uint32_t n, Linear&& linear, Explicit&& irregular) {
  std::array<TimeCursor, kMaxInputs> cursors;
  std::array<Line, kMaxInputs> lines{};
  for (size_t i = 0; i < active.count; ++i) cursors[i] = TimeCursor(active.refs[i]);
  for (uint32_t k = 0; k < n;) {
    uint32_t count = n - k;
    bool all_linear = true;
    for (size_t i = 0; i < active.count; ++i) {
      const int64_t start = cursors[i].at(k);
      count = std::min(count, cursors[i].piece_end() - k);
      all_linear = all_linear && cursors[i].step() != kExplicit;
      lines[i] = {start, cursors[i].step()};
    }
    if (all_linear) {
      const Line top = upper_line({lines.data(), active.count}, count);
      linear(top, count);
    } else {
      irregular(std::span(cursors.data(), active.count), k, count);
    }
    k += count;
  }
}

}  // namespace

int64_t TimeRef::at(uint32_t k) const {
  k += offset;
  const TimePiece& piece = times->pieces[piece_of(*times, k)];
  if (piece.step == kExplicit) return times->value[k] + delta;
  return piece.start + piece.step * static_cast<int64_t>(k - piece.first) + delta;
}

TimeCursor::TimeCursor(const TimeRef& ref)
    : times_(ref.times.get()),
      value_(ref.times->value.get()),
      offset_(ref.offset),
      delta_(ref.delta) {
  piece_ = ref.offset == 0 ? 0 : piece_of(*times_, ref.offset);
}

void TimeCursor::seek(uint32_t k) {
  const auto& pieces = times_->pieces;
  while (piece_ + 1 < pieces.size() && pieces[piece_ + 1].first <= k) ++piece_;
  const TimePiece& piece = pieces[piece_];
  end_ = piece_ + 1 < pieces.size() ? pieces[piece_ + 1].first : times_->count;
  step_ = piece.step;
  base_ = step_ == kExplicit ? 0 : piece.start - step_ * static_cast<int64_t>(piece.first) + delta_;
}

void TimesBuilder::room(uint32_t total) {
  if (total <= capacity_) return;
  const uint32_t grown = std::max(total, capacity_ + capacity_ / 2);
  PoolArray<int64_t> bigger(grown);
  // Runs advance count_ without taking room, so that there may be fewer values than tokens.
  const uint32_t kept = std::min(count_, capacity_);
  if (kept > 0) std::memcpy(bigger.get(), value_.get(), kept * sizeof(int64_t));
  value_ = std::move(bigger);
  capacity_ = grown;
}

int64_t* TimesBuilder::reserve(uint32_t n) {
  flush();
  room(count_ + n);
  return value_.get() + count_;
}

void TimesBuilder::commit(uint32_t n) {
  if (n == 0) return;
  if (pieces_.empty() || pieces_.back().step != kExplicit)
    pieces_.push_back({count_, 0, kExplicit});
  count_ += n;
}

void TimesBuilder::flush() {
  if (pending_ == 0) return;
  if (pending_ >= kLeastRun) {
    pieces_.push_back({count_, start_, step_});
    count_ += pending_;
    pending_ = 0;
    return;
  }
  const uint32_t n = pending_;
  pending_ = 0;
  room(std::max<uint32_t>(count_ + n, 256));
  int64_t* out = value_.get() + count_;
  for (uint32_t k = 0; k < n; ++k) out[k] = start_ + step_ * static_cast<int64_t>(k);
  commit(n);
}

std::shared_ptr<const Times> TimesBuilder::finish() {
  if (count_ == 0 && pending_ != 0) {  // a single run, however short
    pieces_.push_back({0, start_, pending_ == 1 ? gap_ : step_});
    count_ = pending_;
    pending_ = 0;
  }
  flush();
  auto times = make_pooled<Times>();
  const bool one_explicit = pieces_.size() == 1 && pieces_[0].step == kExplicit;
  if (one_explicit && gap_ > 0 &&
      value_[count_ - 1] - value_[0] == gap_ * static_cast<int64_t>(count_ - 1)) {
    pieces_[0] = {0, value_[0], gap_};
    value_.reset();
  }
  times->pieces = std::move(pieces_);
  times->value = std::move(value_);
  times->count = count_;
  times->gap = gap_;
  return times;
}

TimeRef step_times(Pace& pace, std::span<const TimeRef> arrivals, uint32_t n) {
  const int64_t earliest = pace.next();
  Active active;
  for (const TimeRef& ref : arrivals) {
    if (ref.at(n - 1) > earliest) active.add(ref);
  }
  if (active.count == 1 && active.refs[0].times->gap >= pace.interval &&
      active.refs[0].at(0) >= earliest) {
    pace.stepped_at(active.refs[0].at(n - 1));
    return active.refs[0];
  }
  TimesBuilder out(pace.interval);
  if (active.count == 0) {
    out.append(n, earliest, pace.interval);
    pace.stepped_at(earliest + pace.interval * static_cast<int64_t>(n - 1));
    return {out.finish(), 0, 0};
  }
  for_stretches(
      active, n, [&](const Line& line, uint32_t count) { follow_line(pace, line, count, out); },
      [&](std::span<TimeCursor> cursors, uint32_t k, uint32_t count) {
        int64_t* values = out.reserve(count);
        for (size_t i = 0; i < cursors.size(); ++i) max_into(values, cursors[i], k, count, i == 0);
        follow_values(pace, values, count);
        out.commit(count);
      });
  return {out.finish(), 0, 0};
}

void append_times(TimesBuilder& times, const TimeRef& ref, uint32_t n) {
  TimeCursor cursor(ref);
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    if (cursor.step() != kExplicit) {
      times.append(count, start, cursor.step());
    } else {
      for (uint32_t i = 0; i < count; ++i) times.append(1, cursor.at(k + i), 0);
    }
    k += count;
  }
}

}  // namespace fuseflow::engine
