#include "sim/data/times.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {

/// Index of the piece that holds token k.
uint32_t piece_of(const Times& times, uint32_t k) {
  if (times.pieces.size() == 1) return 0;
  const auto it =
      std::upper_bound(times.pieces.begin(), times.pieces.end(), k,
                       [](uint32_t token, const TimePiece& piece) { return token < piece.first; });
  return static_cast<uint32_t>(it - times.pieces.begin()) - 1;
}

/// Whether the first n, never less than `gap` apart, are all `step` apart.
bool regular(const TimeValues& values, uint32_t n, int64_t gap, int64_t step) {
  int64_t span;  // (times that are never known are far apart)
  if (__builtin_mul_overflow(step, int64_t{n} - 1, &span)) return false;
  if (values[n - 1] - values[0] != span) return false;
  if (step == gap) return true;
  for (uint32_t k = 1; k < n; ++k) {
    if (values[k] - values[k - 1] != step) return false;
  }
  return true;
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
      value_(ref.times->value.data()),
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
  const size_t size = value_.size();
  if (total <= size) return;
  value_.reserve(std::max<size_t>(total, size + size / 2));
  value_.resize(value_.capacity());
}

int64_t* TimesBuilder::reserve(uint32_t n) {
  flush();
  room(count_ + n);
  return value_.data() + count_;
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
  int64_t* out = value_.data() + count_;
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
  if (pieces_.size() == 1 && pieces_[0].step == kExplicit) {
    const int64_t step = count_ == 1 ? gap_ : value_[1] - value_[0];
    if (regular(value_, count_, gap_, step)) {
      pieces_[0] = {0, value_[0], step};
      TimeValues().swap(value_);
    }
  }
  times->pieces = std::move(pieces_);
  times->value = std::move(value_);
  times->count = count_;
  times->gap = gap_;
  return times;
}

void append_times(TimesBuilder& times, const TimeRef& ref, uint32_t n) {
  TimeCursor cursor(ref);
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    if (cursor.step() != kExplicit) {
      times.append(count, start, cursor.step());
    } else {
      for (uint32_t i = 0; i < count; ++i) times.append(cursor.at(k + i));
    }
    k += count;
  }
}

}  // namespace fuseflow::engine
