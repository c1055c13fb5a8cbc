// Compares what regions wrote with what it should be: the reference evaluation of the unfused
// statements, or given arrays. Reports, never throws, on a difference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "reference/reference.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

struct CheckedTensor {
  TensorId tensor = -1;
  Comparison comparison;
  bool passes = false;
  std::string against;        ///< "the reference", or the file's name
  int64_t undecided = 0;      ///< comparisons on the way that are within rounding of their operands
  std::string_view why = {};  ///< it does not pass although it may be within the tolerance
  int64_t beyond_f32 = 0;     ///< ExpectedArray::beyond_f32
  /// Whether every element was compared; else those that were may pass, and the others be anything.
  bool decided() const { return comparison.excused == 0 && beyond_f32 == 0; }
};

struct CheckSettings {
  double tolerance = 0;
  int threads = 0;
  int64_t max_bytes = 0;  ///< of the reference's arrays; 0: no limit
  /// Called now and then; why the check is to end, else empty (ReferenceOptions::stop).
  std::function<std::string(const ReferenceProgress&)> stop = {};
};

/// How the expected values may differ by rounding.
enum class RoundingScope : uint8_t {
  all,           ///< they come from elsewhere: a file, other statements
  not_fixed,     ///< but for those that no order of sums moves
  in_one_region  ///< as not_fixed, and no rounding of other regions is in them
};

/// A share of the largest expected value: differences of one region that are larger are compared
/// with the bounds of its rounding, whatever the tolerance.
inline constexpr double kExamined = 1e-5;

/// Compares; what is within rounding, by the bounds of `expected`, is excused. What does not round
/// must be equal; what rounds in one region must be within kExamined or the bounds.
CheckedTensor compared(TensorId tensor, const Value& actual, const Value& expected,
                       RoundingScope rounds, double tolerance, std::string against);

/// What these settings mean for one evaluation of the statements that `wanted` needs: each result
/// is given to on_result and kept no longer than others read it.
ReferenceOptions reference_options(const CheckSettings& settings, bool bounds,
                                   std::vector<TensorId> wanted,
                                   std::function<void(TensorId, const Value&)> on_result);

struct ReferenceCheck {
  std::vector<CheckedTensor> tensors;  ///< in the order in which they are computed
  std::string stopped;                 ///< why not all were compared; empty: all were
};

/// Compares every written tensor with the reference evaluation: of the whole program, and of each
/// region on what the regions before it were simulated to give (check_regions.h). What is beyond
/// the tolerance is looked at again: elements no farther off than rounding may move them are
/// excused. Also asserts the facts that the program states, of its data and of what is computed:
/// Error(unfinished) if values contradict them.
ReferenceCheck check_reference(const Program& program, const TensorData& data,
                               const std::vector<TensorId>& written, const CheckSettings& settings);

/// What a result is expected to be.
struct ExpectedArray {
  std::shared_ptr<const Storage> values;
  /// Of an integer tensor, the elements that f32 does not hold: a result can be equal to what f32
  /// makes of them, and no more is known of it.
  int64_t beyond_f32 = 0;
};

/// The array in a file (any tensor file that can be read, or a generator) in the shape of a tensor
/// that it will be compared with. Throws Error(rejected) when its shape is another.
ExpectedArray load_expected(const Program& program, TensorId tensor, const std::string& path);

/// Compares one result with what load_expected() gave. Elements of an integer type must be equal.
CheckedTensor check_expected(const Program& program, const TensorData& data, TensorId tensor,
                             const std::string& path, const ExpectedArray& expected,
                             double tolerance);

/// "%y differs from the reference: ... at [3, 4]: expected 1.5, got 2": one line.
std::string describe_failure(const Program& program, const CheckedTensor& checked);

/// Which elements were not compared, and why: one line; empty if all were.
std::string describe_excused(const Program& program, const CheckedTensor& checked);

/// How many elements are the next number of their type, as rounding explains; empty: none.
std::string describe_neighbours(const Program& program, const CheckedTensor& checked);

/// A line for each of the written tensors that was not compared: why.
std::vector<std::string> describe_uncompared(const Program& program,
                                             const std::vector<TensorId>& written,
                                             const std::vector<CheckedTensor>& checked);

}  // namespace fuseflow
