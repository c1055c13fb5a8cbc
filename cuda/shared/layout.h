// How matrices lie in a core's scratchpad. A matrix is stored along its rows or its columns; the
// consecutive dimension is cut into panels. Panels of 16, 32 and 64 elements are what the copy
// engine writes with a swizzle of 32, 64 and 128 bytes; panels of 8 have none, and are what threads
// write.
#pragma once

namespace ff {

enum class Along : int { rows, columns };  ///< which dimension's elements are consecutive

/// Elements of two bytes, kRows x kColumns.
template <int kRows_, int kColumns_, Along kAlong_, int kPanel_>
struct Matrix {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kPanel = kPanel_;
  static constexpr bool kByRows = kAlong_ == Along::rows;
  static constexpr int kOuter = kByRows ? kRows : kColumns, kInner = kByRows ? kColumns : kRows;
  static constexpr int kBytes = kRows * kColumns * 2;
  static constexpr int kPanelBytes = kOuter * kPanel * 2;
  static constexpr int kPitch = kPanel * 2;  ///< bytes from one outer coordinate to the next
  static_assert(kPanel == 8 || kPanel == 16 || kPanel == 32 || kPanel == 64);
  static_assert(kInner % kPanel == 0 && kOuter % 8 == 0);

  /// What a swizzle moves the chunks of 8 elements of an outer coordinate by.
  FF_FN static constexpr int swizzle(int outer) {
    return kPanel == 64   ? outer & 7
           : kPanel == 32 ? outer >> 1 & 3
           : kPanel == 16 ? outer >> 2 & 1
                          : 0;
  }
  /// The byte at which a chunk of 8 consecutive elements is.
  FF_FN static constexpr int chunk_at(int outer, int chunk) {
    constexpr int kChunks = kPanel / 8;
    return chunk / kChunks * kPanelBytes + outer * kPitch +
           ((chunk % kChunks) ^ swizzle(outer)) * 16;
  }
  FF_FN static constexpr int at(int row, int column) {
    const int outer = kByRows ? row : column, inner = kByRows ? column : row;
    return chunk_at(outer, inner / 8) + inner % 8 * 2;
  }
  /// Outer coordinates of one box of the copy engine, which has at most 256.
  static constexpr int kBox = kOuter <= 256       ? kOuter
                              : kOuter % 256 == 0 ? 256
                              : kOuter % 128 == 0 ? 128
                                                  : 8;
};

/// Columns [begin, end), multiples of 8: the part of a tile that one of several cores finishes.
struct Columns {
  int begin, end;
};

/// The part of `of` columns that core number `core` of `cores` has.
FF_FN constexpr Columns share(int columns, int core, int cores) {
  return {columns / 8 * core / cores * 8, columns / 8 * (core + 1) / cores * 8};
}
/// The widest of these parts.
FF_FN constexpr int widest_share(int columns, int cores) {
  return (columns / 8 + cores - 1) / cores * 8;
}

/// Cores of a cluster that do something together: first, first + stride, .. and which of them this
/// is.
struct Peers {
  int first, stride, count, mine;
  FF_FN int at(int i) const { return first + i % count * stride; }
  /// The cores, as bits; of `takers`: whose bit in it, by number among these, is set.
  FF_FN unsigned mask(unsigned takers) const {
    unsigned all = 0;
    for (int i = 0; i < count; ++i) all |= (takers >> i & 1U) << at(i);
    return all;
  }
};

/// Steps that follow each other, and the cores that take them: bit i is number i of those that
/// share loads.
struct StepRange {
  int begin, end;
  unsigned cores;
};

}  // namespace ff
