// The latest times of a stream's tokens, by token number: lines where they are regular, a number
// each where they are not. As in data/times.h; but there a batch's times are made once and shared
// by the streams that have them, here a few are added at a time, and the oldest forgotten.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/data/times.h"

namespace fuseflow::engine {

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
  /// Of the host's memory.
  int64_t bytes() const {
    return static_cast<int64_t>((value_mask_ + 1) * sizeof(int64_t) +
                                pieces_.size() * sizeof(Piece));
  }

  /// Whether there is no room for `count` more tokens, given in one go or one by one.
  bool lacks(int64_t count) const {
    return values_end_ - values_begin_ + count > static_cast<int64_t>(value_mask_ + 1) ||
           pieces_end_ - pieces_begin_ + kSparePieces > static_cast<int64_t>(piece_mask_ + 1);
  }
  /// Makes room for them, and for some more; tokens before `first` are not asked for any more.
  void make_room(int64_t count, int64_t first);

  // The next tokens, no earlier than those before, for which there must be room. (That for pieces
  // is made if there is none.)
  void append(int64_t time) {
    if (pieces_end_ == pieces_begin_ || !last().explicit_()) open_values();
    values_[static_cast<size_t>(values_end_++) & value_mask_] = time;
    ++end_;
  }
  void append(const int64_t* times, int64_t n);
  /// Where the next n numbers are to be written; lowers n to those that are in one place.
  int64_t* extend(int64_t& n) {
    if (pieces_end_ == pieces_begin_ || !last().explicit_()) open_values();
    const size_t at = static_cast<size_t>(values_end_) & value_mask_;
    n = std::min(n, static_cast<int64_t>(value_mask_ + 1 - at));
    values_end_ += n;
    end_ += n;
    return &values_[at];
  }
  void append_line(int64_t n, int64_t start, int64_t step);

  /// The time of token k. Nothing is found out about tokens that were forgotten.
  int64_t at(int64_t k, Cursor near) const {
    find(k, near);
    const Piece& p = piece(near.piece);
    if (!p.explicit_()) return p.start + p.step * (k - p.first);
    return values_[static_cast<size_t>(p.value + k - p.first) & value_mask_];
  }
  /// The tokens from k on, as far as they are of one kind, n at most.
  Stretch stretch(int64_t k, int64_t n, Cursor& cursor) const {
    find(k, cursor);
    const Piece& p = piece(cursor.piece);
    const int64_t count = std::min(n, end_of(cursor.piece) - k);
    if (!p.explicit_()) return {count, p.start + p.step * (k - p.first), p.step, nullptr};
    const size_t at = static_cast<size_t>(p.value + k - p.first) & value_mask_;
    return {std::min(count, static_cast<int64_t>(value_mask_ + 1 - at)), 0, 0, &values_[at]};
  }
  /// The first of the tokens first .. last-1 whose time is not before `time`; or `last`.
  int64_t first_from(int64_t time, int64_t first, int64_t last, Cursor near) const;
  /// Whether `count` times from that of token k on are each before those of `other` from token j
  /// on.
  bool before(int64_t k, Cursor at, const TimeLines& other, int64_t j, Cursor other_at,
              int64_t count) const;
  /// Moves the cursor to token k.
  void find(int64_t k, Cursor& cursor) const {
    if (cursor.piece < pieces_begin_) cursor.piece = pieces_begin_;
    const bool past = cursor.piece + 1 < pieces_end_ && piece(cursor.piece + 1).first <= k;
    if (past || piece(cursor.piece).first > k) seek(k, cursor);
  }

 private:
  struct Piece {
    int64_t first = 0;  // token
    int64_t start = 0;
    int64_t step = 0;   // kExplicit: not a line
    int64_t value = 0;  // how many numbers are before the piece
    bool explicit_() const { return step == kExplicit; }
  };
  static constexpr size_t kLeastValues = 64;
  static constexpr size_t kLeastPieces = 64;
  static constexpr int64_t kSparePieces = 4;

  const Piece& piece(int64_t p) const { return pieces_[static_cast<size_t>(p) & piece_mask_]; }
  const Piece& last() const { return piece(pieces_end_ - 1); }
  int64_t end_of(int64_t p) const { return p + 1 == pieces_end_ ? end_ : piece(p + 1).first; }
  void add_piece(int64_t start, int64_t step);
  void open_values() { add_piece(0, kExplicit); }
  void seek(int64_t k, Cursor& cursor) const;
  void forget(int64_t first);
  void grow_values(int64_t size);
  void grow_pieces(int64_t size);

  int64_t end_ = 0;
  // Rings, by number of the piece and of the token that has a number of its own.
  std::vector<Piece> pieces_ = std::vector<Piece>(kLeastPieces);
  size_t piece_mask_ = kLeastPieces - 1;
  int64_t pieces_begin_ = 0;
  int64_t pieces_end_ = 0;
  std::unique_ptr<int64_t[]> values_ = std::make_unique<int64_t[]>(kLeastValues);
  size_t value_mask_ = kLeastValues - 1;
  int64_t values_begin_ = 0;
  int64_t values_end_ = 0;
};

}  // namespace fuseflow::engine
