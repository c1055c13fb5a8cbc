// A stored tensor: its levels and f32 values, access by coordinate, iteration in storage order, and
// the way between formats. Immutable once built: share it as std::shared_ptr<const Storage>.
// Files and generators are in source.h; statistics in stats.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/ceil_div.h"
#include "tensor/buffer.h"
#include "tensor/format.h"

namespace fuseflow {

/// Coordinates in a word of a bitvector level. One host word, so that a word is searched by one
/// instruction; a unit that takes bit vectors takes what is stored.
inline constexpr int64_t kLevelWordBits = 64;
/// Positions are 32 bits wide and one value is kept free: the most a level or the values may hold.
inline constexpr int64_t kMaxStored = (int64_t{1} << 32) - 2;

/// One storage level. With P parent positions (1 at level 0) and C positions of its own:
/// dense: nothing stored, C = P * extent. compressed: pos[P + 1], crd[C]. singleton: crd[C], C = P.
/// bitvector: words[P * ceil(extent / 64)] (bit c % 64 of word c / 64) and pos[P + 1], the number
/// of bits before each fiber.
struct Level {
  LevelKind kind = LevelKind::dense;
  int64_t extent = 0;  ///< of the coordinates: the dimension's, or its number of blocks
  std::vector<uint32_t> pos = {};
  std::vector<uint32_t> crd = {};
  std::vector<uint64_t> words = {};

  int64_t words_per_fiber() const { return ceil_div(extent, kLevelWordBits); }
  /// The position of coordinate `c` of a bitvector below `parent`; -1 if its bit is not set.
  int64_t position_of_bit(int64_t parent, int64_t c) const;
};

/// A tensor in memory. values has block_volume() entries per innermost position: 1, or a block's
/// elements in row-major order of the dimensions (padding beyond the shape holds the fill).
struct Storage {
  std::vector<int64_t> shape;
  Format format;
  float fill = 0;  ///< what an absent entry means
  std::vector<Level> levels;
  Buffer<float> values;

  int rank() const { return static_cast<int>(shape.size()); }
  /// Number of stored values (padding and explicit fill values included).
  int64_t stored() const { return static_cast<int64_t>(values.size()); }
  /// Number of elements of the shape, at most kManyElements.
  int64_t elements() const;
  /// Positions of level l (values per block_volume() below the last one).
  int64_t positions(int l) const;
  /// The value at a coordinate in dimension order; the fill where nothing is stored.
  /// Throws Error(internal) when the coordinate is outside the shape.
  float at(std::span<const int64_t> coords) const;
};

/// True if a and b are the same value for sparsity: equal, or both NaN.
inline bool same_value(float a, float b) {
  return a == b || (a != a && b != b);
}

/// What element_count says of shapes with as many elements or more (sparse tensors may have them).
inline constexpr int64_t kManyElements = int64_t{1} << 62;

/// Product of the extents, at most kManyElements; throws Error(rejected) for a negative extent.
int64_t element_count(std::span<const int64_t> shape);

/// entries / elements; 1 for a shape without elements.
double density_of(int64_t entries, std::span<const int64_t> shape);

/// Coordinates and values, one column per dimension: the form between files, generators and levels.
struct Coo {
  std::vector<int64_t> shape;
  std::vector<std::vector<uint32_t>> coords;  ///< coords[d][e]
  std::vector<float> values;
};

/// Builds a storage from entries in any order. A stored value equal to the fill stays an entry.
/// Throws Error(rejected) for a duplicate coordinate, one outside the shape, or too many positions.
Storage from_coo(Coo entries, const Format& format, float fill = 0);
Storage from_coo(std::vector<int64_t> shape, std::vector<std::vector<uint32_t>> coords,
                 std::vector<float> values, const Format& format, float fill = 0);

/// Builds a storage from all elements in row-major dimension order. Where the format lets entries
/// be absent, elements with |v - fill| <= threshold (or both NaN) are.
Storage from_dense(Buffer<float> values, std::vector<int64_t> shape, const Format& format,
                   float fill = 0, float threshold = 0);

/// All elements in row-major dimension order, absent ones as the fill.
std::vector<float> to_dense(const Storage& storage);

/// The entries in storage order. Fill values are left out where they may be padding
/// (Format::has_padding), kept where they are explicit entries.
Coo to_coo(const Storage& storage);

/// The entries at the same row-major positions of another shape, of as many elements.
void reshape(Coo& entries, const std::vector<int64_t>& shape);

/// The tensor's elements in row-major order as a tensor of another shape: dense, or all levels
/// compressed. Throws Error(internal) for another number of elements.
Storage reshaped(const Storage& storage, const std::vector<int64_t>& shape);

/// The tensor in another format.
Storage convert(const Storage& storage, const Format& format);

/// The tensor with dimension d of the result being dimension dims[d] of the argument (a transposed
/// copy); levels keep their order, so nothing moves but the names of the dimensions and blocks.
Storage permuted(const Storage& storage, std::span<const int> dims);

/// Rounds the values to a type; shared values that it changes are copied. The fill stays.
void round_values(Storage& storage, ElementType type);

/// Checks every invariant above in O(size); throws Error(internal) naming level and position.
void verify(const Storage& storage);

namespace detail {

template <typename Visit>
void visit_block(const Storage& s, std::vector<int64_t>& coords, int64_t position, Visit& visit) {
  // coords holds block coordinates here; elements beyond the shape are padding and not visited.
  const int64_t volume = s.format.block_volume();
  std::vector<int64_t> element(coords.size());
  for (int64_t k = 0; k < volume; ++k) {
    int64_t rest = k;
    bool inside = true;
    for (size_t d = coords.size(); d-- > 0;) {
      element[d] = coords[d] * s.format.block[d] + rest % s.format.block[d];
      rest /= s.format.block[d];
      inside = inside && element[d] < s.shape[d];
    }
    if (!inside) continue;
    visit(std::span<const int64_t>(element), s.values[static_cast<size_t>(position * volume + k)]);
  }
}

template <typename Visit>
void visit_level(const Storage& s, size_t l, int64_t parent, std::vector<int64_t>& coords,
                 Visit& visit) {
  if (l == s.levels.size()) {
    if (!s.format.block.empty()) return visit_block(s, coords, parent, visit);
    visit(std::span<const int64_t>(coords), s.values[static_cast<size_t>(parent)]);
    return;
  }
  const Level& level = s.levels[l];
  int64_t& coord = coords[static_cast<size_t>(s.format.mode_order[l])];
  switch (level.kind) {
    case LevelKind::dense:
      for (int64_t c = 0; c < level.extent; ++c) {
        coord = c;
        visit_level(s, l + 1, parent * level.extent + c, coords, visit);
      }
      return;
    case LevelKind::compressed:
      for (uint32_t p = level.pos[parent]; p < level.pos[parent + 1]; ++p) {
        coord = level.crd[p];
        visit_level(s, l + 1, p, coords, visit);
      }
      return;
    case LevelKind::singleton:
      coord = level.crd[parent];
      visit_level(s, l + 1, parent, coords, visit);
      return;
    case LevelKind::bitvector: {
      int64_t position = level.pos[parent];
      for (int64_t w = 0; w < level.words_per_fiber(); ++w) {
        uint64_t word = level.words[parent * level.words_per_fiber() + w];
        for (; word != 0; word &= word - 1) {
          coord = w * kLevelWordBits + __builtin_ctzll(word);
          visit_level(s, l + 1, position++, coords, visit);
        }
      }
      return;
    }
  }
}

}  // namespace detail

/// Calls visit(std::span<const int64_t> coords, float value) for every stored value in storage
/// order, with coordinates in dimension order. Block padding beyond the shape is skipped.
template <typename Visit>
void for_each_stored(const Storage& storage, Visit&& visit) {
  std::vector<int64_t> coords(storage.shape.size(), 0);
  detail::visit_level(storage, 0, 0, coords, visit);
}

}  // namespace fuseflow
