// The reference: what every simulated result is compared with. Evaluates the statements of a
// program one after another, as written, without regions, orders or placements; of a rewritten
// program the statements that it came from (ir/reference_order.h). It visits points
// that may differ from a statement's fill, by the calculus of ops/ over the data themselves: it
// shares nothing with lowering but the scalar operators. Sums are accumulated in f64. A tensor that
// its region stores is rounded to its type (versions.h), as the executors do.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/stored.h"
#include "tensor/storage.h"

namespace fuseflow {

struct SelectedElements;

/// A tensor's value: all elements in row-major order, or a sparse storage where few of them differ
/// from its fill.
struct Value {
  std::vector<int64_t> shape;
  std::shared_ptr<const std::vector<float>> dense;
  std::shared_ptr<const Storage> sparse;
  /// With ReferenceOptions::bounds: how far each value, in the order of `dense` or of
  /// `sparse->values`, may move where sums are rounded otherwise; infinite: anywhere. Null: 0.
  std::shared_ptr<const std::vector<float>> bounds = nullptr;
  float fill_bound = 0;   ///< how far the sparse storage's fill may move
  int64_t undecided = 0;  ///< comparisons and other steps that rounding of their operands decides
  /// No order of sums gives any other value than these: what is computed right is equal to it.
  bool fixed = false;
  /// That the values were rounded to when they were stored; f32: none narrower.
  ElementType type = ElementType::f32;
  /// With ReferenceOptions::bounds: of a maximum or minimum, whether it is one element for sure.
  std::shared_ptr<const SelectedElements> selection = nullptr;

  int64_t elements() const;
  float at(std::span<const int64_t> coords) const;
};

Value value_of(std::shared_ptr<const Storage> storage);

struct ReferenceProgress {
  size_t statement = 0;   ///< that is evaluated, from 1
  size_t statements = 0;  ///< of the program
  int64_t points = 0;     ///< visited since the start
};

/// The evaluation was ended by ReferenceOptions::stop or max_bytes; what() says why.
class ReferenceStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Which points of a statement are visited: all; present ones where these are less than half; or
/// present ones wherever the rest is a fill (tests).
enum class Visit : uint8_t { all, fewer, present };

struct ReferenceOptions {
  int threads = 0;  ///< 0: as many as the process may use; the result does not depend on it
  int64_t max_elements = int64_t{1} << 28;  ///< of a dense array; larger ones must be sparse
  /// Called after each statement with the tensor that it defined.
  std::function<void(TensorId, const Value&)> on_result = {};
  Visit visit = Visit::fewer;
  bool bounds = false;                ///< find Value::bounds too (a multiple of the time)
  bool keep_all = true;               ///< false: values are dropped after their last use
  std::vector<TensorId> wanted = {};  ///< only what these need is evaluated; none: everything
  /// How tensors are stored, by TensorId, where `program` is a part of the one that stores them
  /// (stored_for_reference()). Empty: as the program itself says.
  std::vector<Stored> stored = {};
  /// Tensors that may be stored or not, whatever the program's regions say: as far as bounds go,
  /// both. So are operands of statements that are in no region.
  std::vector<TensorId> maybe_stored = {};
  int64_t max_bytes = 0;  ///< of all arrays together; 0: no limit
  /// Asked now and then, by one thread at a time, maybe not the caller's: why the evaluation shall
  /// end, or nothing.
  std::function<std::string(const ReferenceProgress&)> stop = {};
};

/// How the reference takes a program's tensors to be stored.
std::vector<Stored> stored_for_reference(const Program& program);

/// Values of all tensors by TensorId. `inputs` holds a storage for every tensor that a statement
/// reads and none that is evaluated defines. Throws Error(rejected) for a statement too large to
/// evaluate, and ReferenceStopped.
std::vector<Value> evaluate(const Program& program,
                            const std::vector<std::shared_ptr<const Storage>>& inputs,
                            const ReferenceOptions& options = {});

/// What is near zero counts as this much of the largest expected value in relative errors.
inline constexpr double kRelativeFloor = 1e-6;

/// How far `actual` is from `expected`, and whether it passes: max |a - e| <= tolerance * max |e|
/// over finite e, NaN only where NaN is expected, infinities equal. A max |e| below the smallest
/// normal number counts as that one (but not 0): what is smaller has fewer digits.
struct Comparison {
  double max_abs_error = 0;
  double max_abs_expected = 0;
  /// max |a - e| / max(|e|, kRelativeFloor * max |e|) over finite a and e; 0 / 0 is 0, else x / 0
  /// is infinite
  double max_rel_error = 0;
  bool same_nans = true;
  bool same_infinities = true;
  int64_t worst = -1;  ///< row-major position of the first offending, else of the largest error
  float worst_expected = 0;
  float worst_actual = 0;
  /// Elements that are beyond the tolerance, but no farther than `expected.bounds`: they are in
  /// none of the above but max_abs_expected.
  int64_t excused = 0;
  double max_excused_error = 0;
  /// Elements that are beyond the tolerance and within the bounds, but next to what is expected
  /// among the numbers of expected.type: not excused, rounding to the type explains them.
  int64_t neighbours = 0;
  /// Excused elements of which one of the two is infinite or NaN, and the other is not.
  int64_t overflowed = 0;
  int64_t first_overflowed = -1;  ///< row-major position; -1: the fill
  bool passes(double tolerance) const;
  /// The largest error that passes.
  double allowed(double tolerance) const;
};
/// Elements are excused only if one of the two has bounds, of which the sum counts.
Comparison compare(const Value& actual, const Value& expected, double tolerance = 0);

}  // namespace fuseflow
