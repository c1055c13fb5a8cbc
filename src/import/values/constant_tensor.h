// Tensors whose values the importer knows: initializers, folded constants, bound integer inputs.
// Data only: what their values are like is in survey.h; operators on them are the same index
// expressions as everywhere (see evaluate.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ops/op.h"
#include "tensor/buffer.h"
#include "tensor/format.h"
#include "tensor/limits.h"
#include "tensor/storage.h"
#include "tensor/survey.h"

namespace fuseflow {

/// Gives the import up where so many of a constant's elements are more than it may take
/// (support/stop.h).
template <typename T>
void stop_unless_room(int64_t count) {
  stop_if_larger(saturating_product(static_cast<uint64_t>(count), sizeof(T)));
}

/// Zeros for the numbers of a constant that is made at import, if there is room.
template <typename T>
std::vector<T> room_for(int64_t count) {
  stop_unless_room<T>(count);
  return filled(static_cast<size_t>(count), T{0});
}

/// The largest constant that folding may create, the elements of all of them, and the most steps
/// that one and all of them may take (see evaluation_steps). What exceeds them stays a statement.
inline constexpr int64_t kMaxFoldedElements = int64_t{1} << 26;
inline constexpr int64_t kMaxFoldedTotal = int64_t{1} << 28;
inline constexpr int64_t kMaxFoldedSteps = int64_t{1} << 31;
inline constexpr int64_t kMaxSparseSteps = int64_t{1} << 24;  ///< if a sparse constant is read

/// Sparse values: `values` at these row-major positions (ascending), all others are 0.
struct ConstantEntries {
  std::vector<int64_t> positions;
  Buffer<float> values;
};

/// Row-major values of a tensor, made once and then read only. Floating types are kept as f32,
/// integers and booleans as i64, sparse tensors of any type as entries. A wrong payload cannot be
/// read: as_float() and as_int() convert from whatever is there, and the accessors of one payload
/// throw Error(internal) when there is another.
class ConstantTensor {
 public:
  using Payload = std::variant<Buffer<float>, std::vector<int64_t>, ConstantEntries>;

  /// Throws Error(internal) unless the payload is of the type's kind and has the shape's size.
  ConstantTensor(ElementType type, std::vector<int64_t> shape, Payload payload);

  ElementType type;
  std::vector<int64_t> shape;
  /// ONNX's number of the element type where `type` only stores it (2 and 4 bits, say), else 0.
  int code = 0;
  /// What constant_stats() found (see survey.h), so that large weights are read once.
  mutable std::optional<Survey> surveyed;

  bool integral() const { return is_integral(type); }
  bool sparse() const { return std::holds_alternative<ConstantEntries>(payload_); }
  int64_t size() const { return size_; }

  /// Element i in row-major order; integers are rounded to the nearest float.
  float as_float(int64_t i) const;
  /// Element i as an integer: see integer_of().
  int64_t as_int(int64_t i) const;
  /// All elements as integers.
  std::vector<int64_t> as_ints() const;

  const Buffer<float>& floats() const;       ///< of a dense tensor of a floating type
  const std::vector<int64_t>& ints() const;  ///< of a dense tensor of an integer type or bool
  const ConstantEntries& entries() const;    ///< of a sparse tensor

  /// The values in another shape of as many elements.
  std::shared_ptr<const ConstantTensor> reshaped(std::vector<int64_t> new_shape) const;

  static bool is_integral(ElementType type) { return is_integer(type); }

 private:
  Payload payload_;
  int64_t size_ = 0;
};

using ConstantPtr = std::shared_ptr<const ConstantTensor>;

/// ONNX's Cast of a float to an integer: truncated; what i64 cannot hold becomes its nearest
/// extreme, NaN becomes 0 (ONNX leaves both open).
int64_t integer_of(float value);

/// `value` as an element of an integer type or bool: non-zero is true, and integers of up to 32
/// bits wrap.
int64_t narrowed(int64_t value, ElementType type);

ConstantPtr constant_ints(std::vector<int64_t> values, std::vector<int64_t> shape,
                          ElementType type = ElementType::i64);
ConstantPtr constant_floats(Buffer<float> values, std::vector<int64_t> shape,
                            ElementType type = ElementType::f32);
/// Integer or floating values by `type`, converted from floats by integer_of() and narrowed(), or
/// rounded to the type.
ConstantPtr constant_values(std::vector<float> values, std::vector<int64_t> shape,
                            ElementType type);
/// A mostly zero tensor from (position, value) pairs in any order; values at equal positions add
/// up.
ConstantPtr constant_sparse(std::vector<std::pair<int64_t, float>> entries,
                            std::vector<int64_t> shape, ElementType type);

}  // namespace fuseflow
