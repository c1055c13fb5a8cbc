// Tensors whose values the importer knows: initializers, folded constants, bound integer inputs.
// Data only: what their values are like is in survey.h; operators on them are the same index
// expressions as everywhere (see evaluate.h).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "tensor/buffer.h"
#include "tensor/format.h"
#include "tensor/storage.h"

namespace fuseflow {

/// The largest constant that folding may create, and the most elementary steps it may take.
/// What exceeds them stays a statement of the program.
inline constexpr int64_t kMaxFoldedElements = int64_t{1} << 26;
inline constexpr int64_t kMaxFoldedTotal = int64_t{1} << 28;
inline constexpr int64_t kMaxFoldedSteps = int64_t{1} << 31;
inline constexpr int64_t kMaxSparseSteps = int64_t{1} << 24;  ///< if a sparse constant is read

/// What one pass over all stored values tells; of none: no extremes, every fact. NaN is neither
/// least nor largest.
struct Survey {
  float least = std::numeric_limits<float>::infinity();
  float largest = -std::numeric_limits<float>::infinity();
  int64_t zeros = 0;
  bool nan = false;
};

/// Row-major values. Floating types are kept as f32, integers and booleans as i64.
struct HostTensor {
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  Buffer<float> floats;
  std::vector<int64_t> ints;
  /// Sparse: `floats` holds the values at these row-major positions (ascending), all others are 0.
  /// Made by host_sparse, for matrices that select and for large sparse initializers.
  std::vector<int64_t> positions;
  bool sparse = false;
  /// What survey_of() found (see survey.h), so that large weights are read once. Of a constant
  /// only.
  mutable std::optional<Survey> surveyed;

  bool integral() const { return is_integral(type); }
  int64_t size() const {
    if (sparse) return element_count(shape);
    return static_cast<int64_t>(integral() ? ints.size() : floats.size());
  }
  float as_float(int64_t i) const {
    if (sparse) return sparse_at(i);
    return integral() ? static_cast<float>(ints[static_cast<size_t>(i)])
                      : floats[static_cast<size_t>(i)];
  }
  float sparse_at(int64_t i) const;
  static bool is_integral(ElementType type) {
    return type == ElementType::i32 || type == ElementType::i64 || type == ElementType::u8 ||
           type == ElementType::boolean;
  }
};

using HostPtr = std::shared_ptr<const HostTensor>;

HostPtr host_ints(std::vector<int64_t> values, std::vector<int64_t> shape,
                  ElementType type = ElementType::i64);
HostPtr host_floats(std::vector<float> values, std::vector<int64_t> shape);
/// A mostly zero tensor from (position, value) pairs in any order; values at equal positions add
/// up.
HostPtr host_sparse(std::vector<std::pair<int64_t, float>> entries, std::vector<int64_t> shape,
                    ElementType type);

}  // namespace fuseflow
