// What the values of a tensor are like, found in one pass over them: the facts of bound data, and
// what its fibers hold. Each fact is defined in ir-spec/language.md ("Facts").
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"
#include "tensor/storage.h"

namespace fuseflow {

/// What one pass over values tells; of none: no extremes, every fact. NaN is neither least nor
/// largest.
struct Survey {
  float least = std::numeric_limits<float>::infinity();
  float largest = -std::numeric_limits<float>::infinity();
  int64_t zeros = 0;
  bool nan = false;
};

Survey survey_values(std::span<const float> values);

/// Facts that hold of every value that was surveyed.
Facts facts_of(const Survey& survey);

/// Facts that hold of every entry of a tensor: its stored values and, where the format lets entries
/// be absent, its fill.
Facts facts_of(const Storage& storage);

/// The largest value of every fiber along some dimensions, over all coordinates of the others. NaN
/// is no value.
class FiberMaxima {
 public:
  /// `along`: by dimension. `fit()`: whether there are few enough fibers to look at.
  FiberMaxima(std::span<const int64_t> shape, const std::vector<bool>& along);
  bool fit() const { return fits_; }

  /// An entry; no coordinates twice.
  void add(std::span<const int64_t> coords, float value);

  /// The least of them, where the entries that were not added are `fill`.
  float least(float fill) const;

 private:
  std::vector<int64_t> strides_;  ///< by dimension; 0 along fibers
  int64_t length_ = 1;            ///< of a fiber
  bool fits_ = true;
  std::vector<float> largest_;
  std::vector<int64_t> entries_;
};

/// The least of a tensor's FiberMaxima; nothing if there are too many fibers.
std::optional<float> least_fiber_maximum(const Storage& storage, const std::vector<bool>& along);

/// An element that contradicts facts: the first in storage order; the fill (no coordinates) where
/// entries are absent and it contradicts them.
struct Contradiction {
  std::vector<int64_t> coords;
  bool is_fill = false;
  float value = 0;
};
std::optional<Contradiction> find_contradiction(const Storage& storage, const Facts& facts);

}  // namespace fuseflow
