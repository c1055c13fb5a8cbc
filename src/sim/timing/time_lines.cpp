#include "sim/timing/time_lines.h"

#include <algorithm>

#include "sim/timing/step_kernels.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kMostReserve = 4096;

/// Places for so many, and for more, so that it is not looked at again soon.
int64_t with_reserve(int64_t count) {
  return count + std::max(count / 4, std::min(count, kMostReserve));
}
}  // namespace

// --- giving ---

void TimeLines::add_piece(int64_t start, int64_t step) {
  pieces_.grow(pieces_.held() + 1);
  pieces_[pieces_.end++] = {end_, start, step, values_.end};
}

void TimeLines::append(const int64_t* times, int64_t n) {
  while (n > 0) {
    int64_t count = n;
    int64_t* const room = extend(count);
    std::copy_n(times, count, room);
    times += count;
    n -= count;
  }
}

void TimeLines::append_line(int64_t n, int64_t start, int64_t step) {
  if (n == 0) return;
  if (in_line()) {
    const Piece& p = pieces_[pieces_.end - 1];
    if (start == p.start + p.step * (end_ - p.first) && (n == 1 || step == p.step)) {
      end_ += n;
      return;
    }
  }
  if (n < kLeastRun) {
    for (int64_t k = 0; k < n; ++k) append(start + step * k);
    return;
  }
  add_piece(start, step);
  end_ += n;
}

// --- room ---

void TimeLines::forget(int64_t first) {
  // The last one stays: it may go on.
  while (pieces_.begin + 1 < pieces_.end && end_of(pieces_.begin) <= first) ++pieces_.begin;
  values_.begin = values_.end;
  for (int64_t p = pieces_.begin; p < pieces_.end; ++p) {
    if (!pieces_[p].explicit_()) continue;
    values_.begin = pieces_[p].value + std::max<int64_t>(0, first - pieces_[p].first);
    return;
  }
}

void TimeLines::make_room(int64_t count, int64_t first) {
  forget(first);
  values_.grow(with_reserve(values_.held() + count));
  pieces_.grow(2 * (pieces_.held() + kSparePieces));
}

// --- asking ---

/// The piece that holds token k: near by, or else by bisection.
void TimeLines::seek(int64_t k, Cursor& cursor) const {
  constexpr int kNear = 4;
  int64_t low = pieces_.begin;
  if (pieces_[cursor.piece].first <= k) {
    for (int i = 0; i < kNear; ++i) {
      if (end_of(cursor.piece) > k) return;
      ++cursor.piece;
    }
    low = cursor.piece;
  }
  int64_t high = pieces_.end - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (pieces_[middle].first <= k) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  cursor.piece = low;
}

int64_t TimeLines::first_from(int64_t time, int64_t first, int64_t last, Cursor near) const {
  if (first >= last || at(last - 1, near) < time) return std::max(first, last);
  // The last piece that starts before `time`, or at `first`.
  find(first, near);
  int64_t low = near.piece;
  find(last - 1, near);
  for (int64_t high = near.piece; low < high;) {
    near.piece = low + (high - low + 1) / 2;
    if (at(pieces_[near.piece].first, near) < time) {
      low = near.piece;
    } else {
      high = near.piece - 1;
    }
  }
  near.piece = low;
  int64_t k = std::max(first, pieces_[low].first);
  for (int64_t end = std::min(last, end_of(low)); k < end;) {
    const int64_t middle = k + (end - k) / 2;
    if (at(middle, near) < time) {
      k = middle + 1;
    } else {
      end = middle;
    }
  }
  return k;
}

bool TimeLines::before(int64_t k, Cursor at, const TimeLines& other, int64_t j, Cursor other_at,
                       int64_t count) const {
  while (count > 0) {
    const Stretch a = stretch(k, count, at);
    const Stretch b = other.stretch(j, a.count, other_at);
    const int64_t n = b.count;
    if (a.values != nullptr && b.values != nullptr) {
      if (!loops::all_before(a.values, b.values, n)) return false;
    } else if (a.values == nullptr && b.values == nullptr) {
      if (a.start >= b.start || a.at(n - 1) >= b.at(n - 1)) return false;
    } else {
      for (int64_t i = 0; i < n; ++i) {
        if (a.at(i) >= b.at(i)) return false;
      }
    }
    k += n;
    j += n;
    count -= n;
  }
  return true;
}

}  // namespace fuseflow::engine
