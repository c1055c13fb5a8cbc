// How matrices lie in a core's scratchpad. A matrix is stored along its rows or its columns; the
// consecutive dimension is cut into panels. Panels of 32, 64 and 128 bytes are what the copy engine
// writes with a swizzle as wide; panels of 16 bytes have none, and are what threads write.
#pragma once

namespace ff {

enum class Along : int { rows, columns };  ///< which dimension's elements are consecutive

/// What a swizzle moves the chunks of 16 bytes of an outer coordinate by, in panels of so many
/// bytes.
FF_FN constexpr int swizzle(int outer, int panel_bytes) {
  return panel_bytes == 128  ? outer & 7
         : panel_bytes == 64 ? outer >> 1 & 3
         : panel_bytes == 32 ? outer >> 2 & 1
                             : 0;
}

/// kRows x kColumns elements of one, two or four bytes, in panels of kPanel elements.
template <int kRows_, int kColumns_, Along kAlong_, int kPanel_, Type kElement_>
struct Matrix {
  static constexpr Type kElement = kElement_;
  static constexpr int kRows = kRows_, kColumns = kColumns_, kPanel = kPanel_;
  static constexpr int kSize = bytes_of(kElement), kChunk = 16 / kSize;  ///< elements of 16 bytes
  static constexpr bool kByRows = kAlong_ == Along::rows;
  static constexpr int kOuter = kByRows ? kRows : kColumns, kInner = kByRows ? kColumns : kRows;
  static constexpr int kBytes = kRows * kColumns * kSize;
  static constexpr int kPanelBytes = kOuter * kPanel * kSize;
  static constexpr int kPitch = kPanel * kSize;  ///< bytes from one outer coordinate to the next
  static_assert(kPitch == 16 || kPitch == 32 || kPitch == 64 || kPitch == 128);
  static_assert(kInner % kPanel == 0 && kOuter % 8 == 0);

  /// The byte at which a chunk of 16 bytes is, whose elements are consecutive.
  FF_FN static constexpr int chunk_at(int outer, int chunk) {
    constexpr int kChunks = kPanel / kChunk;
    return chunk / kChunks * kPanelBytes + outer * kPitch +
           ((chunk % kChunks) ^ swizzle(outer, kPitch)) * 16;
  }
  FF_FN static constexpr int at(int row, int column) {
    const int outer = kByRows ? row : column, inner = kByRows ? column : row;
    return chunk_at(outer, inner / kChunk) + inner % kChunk * kSize;
  }
  /// Outer coordinates of one box of the copy engine, which has at most 256.
  static constexpr int kBox = kOuter <= 256       ? kOuter
                              : kOuter % 256 == 0 ? 256
                              : kOuter % 128 == 0 ? 128
                                                  : 8;
};

/// How many elements of M's type the instructions for products sum at a time.
template <class M>
FF_FN constexpr int depth_of() {
  return 32 / M::kSize;
}
/// Is there an instruction for A * B? Elements of two bytes have one type, and lie either way;
/// others lie with what is summed consecutive. Those of one byte may have two types.
template <class A, class B>
FF_FN constexpr bool has_instruction() {
  return A::kSize == B::kSize && A::kColumns % depth_of<A>() == 0 &&
         (A::kSize == 1 || A::kElement == B::kElement) &&
         (A::kSize == 2 || (A::kByRows && !B::kByRows));
}

/// Columns [begin, end): the part of a tile that one of several cores finishes.
struct Columns {
  int begin, end;
};

/// The part of `columns` that core number `core` of `cores` has, in multiples of `unit`.
FF_FN constexpr Columns share(int columns, int core, int cores, int unit) {
  return {columns / unit * core / cores * unit, columns / unit * (core + 1) / cores * unit};
}
/// The widest of these parts.
FF_FN constexpr int widest_share(int columns, int cores, int unit) {
  return (columns / unit + cores - 1) / cores * unit;
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
