// How a tensor is stored, as data: one level kind per storage level, the tensor dimension stored at
// each, and dense blocks below the innermost level. Nothing here knows values, files or the IR;
// storage.h holds the data itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/element_type.h"

namespace fuseflow {

/// One level of a storage tree. A level maps a parent position to a fiber of (coordinate,
/// position).
enum class LevelKind : uint8_t {
  dense,       ///< every coordinate; position = parent * extent + coordinate
  compressed,  ///< the present coordinates of a fiber, sorted: pos and crd arrays
  singleton,   ///< one coordinate per parent position (COO); follows compressed or singleton
  bitvector,   ///< the present coordinates of a fiber as bits, positions by rank
};

/// The name used in texts: "dense", "compressed", "singleton", "bitvector".
std::string_view level_name(LevelKind kind);

/// How a tensor is stored. A compressed level that singletons follow holds one entry per tuple of
/// the run (its own coordinates may repeat); the tuples of a fiber are sorted and unique.
struct Format {
  std::vector<LevelKind> levels;  ///< outermost storage level first
  std::vector<int> mode_order;    ///< mode_order[l] = tensor dimension of level l; a permutation
  std::vector<int64_t> block;     ///< empty, or one block extent per tensor dimension

  int rank() const { return static_cast<int>(levels.size()); }
  /// Coordinates of a dimension of `extent` elements: that many, or the blocks that cover them.
  int64_t coordinates(size_t dimension, int64_t extent) const;
  /// Values per innermost position: the product of the block extents, 1 without blocks.
  int64_t block_volume() const;
  /// True if every level is dense and there are no blocks: all elements are stored.
  bool all_dense() const;
  /// True if stored values may be padding: the innermost level is dense, or there are blocks.
  bool has_padding() const;
  bool operator==(const Format&) const = default;
};

/// Canonical text: "dense,compressed", "dense,compressed@1,0" when the mode order is not the
/// identity, "dense,compressed[16x16]" with blocks (after the mode order), "scalar" for rank 0.
std::string to_string(const Format& format);

/// The inverse of to_string; blanks are allowed. Throws Error(rejected) with suggestions.
Format parse_format(std::string_view text);

Format dense_format(int rank);

/// `levels` in the given mode order (identity when empty), without blocks; checked.
Format make_format(std::vector<LevelKind> levels, std::vector<int> mode_order = {});

/// The default for sparse data: "dense,compressed,..." (rank 1: "compressed").
Format sparse_format(int rank);

/// Throws Error(rejected) unless `format` is well formed and stores tensors of `rank` dimensions.
void check_format(const Format& format, int rank);

}  // namespace fuseflow
