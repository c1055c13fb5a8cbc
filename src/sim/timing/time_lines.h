// The latest times of a stream's tokens, by token number: lines where they are regular, a number
// each where they are not. As in data/times.h; but there a batch's times are made once and shared
// by the streams that have them, here a few are added at a time, and the oldest dropped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "sim/data/times.h"

namespace fuseflow::engine {

/// Elements by number, of which the oldest are dropped.
template <typename T>
class Ring {
 public:
  int64_t begin = 0;  ///< elements before it are not asked for any more
  int64_t end = 0;

  T& operator[](int64_t i) { return elements_[static_cast<size_t>(i) & mask_]; }
  const T& operator[](int64_t i) const { return elements_[static_cast<size_t>(i) & mask_]; }
  int64_t held() const { return end - begin; }
  int64_t places() const { return static_cast<int64_t>(mask_ + 1); }
  /// How many places, from that of element i on, lie one after the other.
  int64_t unbroken(int64_t i) const { return places() - (i & static_cast<int64_t>(mask_)); }
  int64_t bytes() const { return places() * static_cast<int64_t>(sizeof(T)); }
  /// Makes room for so many places at least.
  void grow(int64_t size) {
    if (size <= places()) return;
    const size_t bigger = std::bit_ceil(static_cast<size_t>(size));
    auto grown = std::make_unique_for_overwrite<T[]>(bigger);
    for (int64_t i = begin; i < end; ++i) grown[static_cast<size_t>(i) & (bigger - 1)] = (*this)[i];
    elements_ = std::move(grown);
    mask_ = bigger - 1;
  }

 private:
  static constexpr size_t kLeast = 64;
  std::unique_ptr<T[]> elements_ = std::make_unique<T[]>(kLeast);
  size_t mask_ = kLeast - 1;
};

class TimeLines {
 public:
  /// A place in the times, so that tokens asked for in order are found at once.
  class Cursor {
    friend TimeLines;
    int64_t piece = 0;
  };

  /// `count` tokens one after the other: at start, start + step, ...; or at `values`.
  struct Stretch {
    int64_t count = 0;
    int64_t start = 0;
    int64_t step = 0;
    const int64_t* values = nullptr;  ///< null: a line

    int64_t at(int64_t k) const { return values == nullptr ? start + step * k : values[k]; }
    int64_t last() const { return at(count - 1); }
  };

  int64_t end() const { return end_; }  ///< tokens whose times were given
  /// Bytes of the host's memory.
  int64_t bytes() const { return values_.bytes() + pieces_.bytes(); }

  /// Whether there is no room for `count` more tokens, given in one go or one by one.
  bool lacks(int64_t count) const {
    return values_.held() + count > values_.places() ||
           pieces_.held() + kSparePieces > pieces_.places();
  }
  /// Makes room for them, and for some more; tokens before `first` are not asked for any more.
  void make_room(int64_t count, int64_t first);

  // The next tokens, no earlier than those before, for which there must be room. (That for pieces
  // is made if there is none.)
  void append(int64_t time) {
    open_values();
    values_[values_.end++] = time;
    ++end_;
  }
  void append(const int64_t* times, int64_t n);
  /// Where the next n numbers are to be written; lowers n to those that are in one place.
  int64_t* extend(int64_t& n) {
    open_values();
    int64_t* const at = &values_[values_.end];
    n = std::min(n, values_.unbroken(values_.end));
    values_.end += n;
    end_ += n;
    return at;
  }
  void append_line(int64_t n, int64_t start, int64_t step);

  /// The time of token k, which must not have been dropped.
  int64_t at(int64_t k, Cursor near) const {
    find(k, near);
    const Piece& p = pieces_[near.piece];
    if (!p.explicit_()) return p.start + p.step * (k - p.first);
    return values_[p.value + k - p.first];
  }
  /// The tokens from k on, as far as they are of one kind, n at most.
  Stretch stretch(int64_t k, int64_t n, Cursor& cursor) const {
    find(k, cursor);
    const Piece& p = pieces_[cursor.piece];
    const int64_t count = std::min(n, end_of(cursor.piece) - k);
    if (!p.explicit_()) return {count, p.start + p.step * (k - p.first), p.step, nullptr};
    const int64_t value = p.value + k - p.first;
    return {std::min(count, values_.unbroken(value)), 0, 0, &values_[value]};
  }
  /// The first of the tokens first .. last-1 whose time is not before `time`; or `last`.
  int64_t first_from(int64_t time, int64_t first, int64_t last, Cursor near) const;
  /// Whether `count` times from that of token k on are each before those of `other` from token j
  /// on.
  bool before(int64_t k, Cursor at, const TimeLines& other, int64_t j, Cursor other_at,
              int64_t count) const;
  /// Moves the cursor to token k.
  void find(int64_t k, Cursor& cursor) const {
    if (cursor.piece < pieces_.begin) cursor.piece = pieces_.begin;
    const bool past = cursor.piece + 1 < pieces_.end && pieces_[cursor.piece + 1].first <= k;
    if (past || pieces_[cursor.piece].first > k) seek(k, cursor);
  }

 private:
  struct Piece {
    int64_t first = 0;  // token
    int64_t start = 0;
    int64_t step = 0;   // kExplicit: not a line
    int64_t value = 0;  // how many numbers are before the piece
    bool explicit_() const { return step == kExplicit; }
  };
  static constexpr int64_t kSparePieces = 4;

  int64_t end_of(int64_t p) const { return p + 1 == pieces_.end ? end_ : pieces_[p + 1].first; }
  /// Whether the latest tokens are a line, which may go on.
  bool in_line() const { return pieces_.held() > 0 && !pieces_[pieces_.end - 1].explicit_(); }
  void add_piece(int64_t start, int64_t step);
  /// The next tokens have numbers.
  void open_values() {
    if (pieces_.held() == 0 || in_line()) add_piece(0, kExplicit);
  }
  void seek(int64_t k, Cursor& cursor) const;
  void forget(int64_t first);

  int64_t end_ = 0;
  Ring<Piece> pieces_;
  Ring<int64_t> values_;  // of the tokens that have a number of their own
};

}  // namespace fuseflow::engine
