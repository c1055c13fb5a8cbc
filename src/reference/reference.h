// The reference: what every simulated result is compared with. Evaluates the statements of a
// program one after another, as written, without regions, orders, placements or presence formulas:
// it shares nothing with lowering but the scalar operators. Sums are accumulated in f64.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow {

/// A tensor's value: all elements in row-major order, or a sparse storage that would be too large
/// to spell out.
struct Value {
  std::vector<int64_t> shape;
  std::shared_ptr<const std::vector<float>> dense;
  std::shared_ptr<const Storage> sparse;

  int64_t elements() const;
  float at(std::span<const int64_t> coords) const;
};

Value value_of(std::shared_ptr<const Storage> storage);

struct ReferenceOptions {
  int threads = 0;  ///< 0: as many as the process may use; the result does not depend on it
  int64_t max_elements = int64_t{1} << 28;  ///< of a dense array; larger ones must be sparse
  /// Called after each statement with the tensor that it defined.
  std::function<void(TensorId, const Value&)> on_result;
};

/// Values of all tensors by TensorId. `inputs` holds a storage for every input and constant that a
/// statement reads. Throws Error(rejected) for a statement too large to evaluate.
std::vector<Value> evaluate(const Program& program,
                            const std::vector<std::shared_ptr<const Storage>>& inputs,
                            const ReferenceOptions& options = {});

/// What is near zero counts as this much of the largest expected value in relative errors.
inline constexpr double kRelativeFloor = 1e-6;

/// How far `actual` is from `expected`, and whether it passes: max |a - e| <= tolerance * max |e|
/// over finite e, NaN only where NaN is expected, infinities equal.
struct Comparison {
  double max_abs_error = 0;
  double max_abs_expected = 0;
  /// max |a - e| / max(|e|, kRelativeFloor * max |e|) over finite a and e; 0 / 0 is 0, else x / 0
  /// is infinite
  double max_rel_error = 0;
  bool same_nans = true;
  bool same_infinities = true;
  int64_t worst = -1;  ///< row-major position of the first offending, else of the largest error
  bool passes(double tolerance) const;
};
Comparison compare(const Value& actual, const Value& expected);

}  // namespace fuseflow
