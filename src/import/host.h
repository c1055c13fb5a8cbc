// Tensors whose values the importer knows: initializers, folded constants, bound integer inputs.
// Data only; operators on them are the same index expressions as everywhere (see evaluate.h).
#pragma once

#include <cstdint>
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

/// Facts that hold for every element (no elements: every fact).
Facts facts_of(const HostTensor& tensor);

/// What absent entries of a constant should mean. `wanted` (the value that masks) and -inf or a
/// large negative number (an additive mask) come first, if the density is at most `threshold`: only
/// they carry sparsity on. Else 0, or for booleans what most elements are.
struct FillChoice {
  float fill = 0;
  double density = 1;
  int64_t present = 0;
  bool mask = false;  ///< the fill is what masks
};
FillChoice choose_fill(const HostTensor& tensor, std::optional<float> wanted, double threshold);

}  // namespace fuseflow
