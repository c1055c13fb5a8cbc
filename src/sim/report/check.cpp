#include "sim/report/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <optional>

#include "ir/names.h"
#include "ir/stored.h"
#include "sim/report/check_facts.h"
#include "sim/report/check_regions.h"
#include "sim/report/check_rewrite.h"
#include "tensor/extents.h"
#include "tensor/source.h"

namespace fuseflow {
namespace {

/// Evaluates the program and compares; what failed, a second time and with bounds on its rounding.
class ReferenceChecker {
 public:
  ReferenceChecker(const Program& program, const TensorData& data, const CheckSettings& settings)
      : program_(program), data_(data), settings_(settings), inputs_(program.tensors.size()) {
    const std::vector<Stored> stored = stored_tensors(program);
    for (size_t t = 0; t < inputs_.size(); ++t) {
      // What a graph without statements computes is taken as it is.
      const bool given = is_given(program.tensors[t].role) || stored[t].region < 0;
      if (given) inputs_[t] = data.storage[t];
    }
    if (needs_two_steps(program)) regions_ = without_reference(program);
    one_region_.assign(inputs_.size(), false);
    for (size_t r = 0; r < program.regions.size(); ++r) {
      const bool first = rounds_apart(program, r) && !reads_of_others(program, r, stored);
      for (const Statement& s : program.regions[r].statements) {
        one_region_[static_cast<size_t>(s.result)] = first;
      }
    }
  }

  void assert_inputs() const {
    for (size_t t = 0; t < inputs_.size(); ++t) {
      if (inputs_[t] != nullptr) assert_facts(program_.tensors[t], *inputs_[t]);
    }
  }

  void compare_all(const std::vector<TensorId>& written,
                   std::vector<CheckedTensor>& checked) const {
    std::vector<bool> wanted(program_.tensors.size(), false);
    for (const TensorId tensor : written) wanted[tensor] = true;
    evaluate_with(false, {}, [&](TensorId tensor, const Value& expected) {
      const auto t = static_cast<size_t>(tensor);
      assert_facts(program_.tensors[t], expected);
      if (wanted[t] && data_.storage[t] != nullptr) checked.push_back(compared(tensor, expected));
    });
  }

  /// Compares what the regions compute with what they were rewritten from, where compare_all() has
  /// compared the simulation with the regions alone.
  void compare_rewritten(const std::vector<TensorId>& written,
                         std::vector<CheckedTensor>& checked) const {
    if (!regions_) return;
    for (CheckedTensor& apart : check_rewrite(program_, inputs_, written, settings_)) {
      for (CheckedTensor& one : checked) {
        if (one.tensor != apart.tensor || !one.passes) continue;
        one = std::move(apart);
        break;
      }
    }
  }

  /// Looks again at what failed: rounding may explain it.
  void compare_within_rounding(std::vector<CheckedTensor>& checked) const {
    std::vector<TensorId> failed;
    std::vector<CheckedTensor*> by_tensor(program_.tensors.size(), nullptr);
    for (CheckedTensor& one : checked) {
      if (one.passes) continue;
      failed.push_back(one.tensor);
      by_tensor[static_cast<size_t>(one.tensor)] = &one;
    }
    if (failed.empty()) return;
    int64_t undecided = 0;
    evaluate_with(true, failed, [&](TensorId tensor, const Value& expected) {
      undecided += expected.undecided;
      CheckedTensor* const one = by_tensor[static_cast<size_t>(tensor)];
      if (one == nullptr) return;
      *one = compared(tensor, expected);
      one->undecided = undecided;
    });
  }

 private:
  RoundingScope rounds_of(TensorId tensor) const {
    if (!regions_ && !program_.reference.statements.empty()) return RoundingScope::all;
    return one_region_[static_cast<size_t>(tensor)] ? RoundingScope::in_one_region
                                                    : RoundingScope::not_fixed;
  }

  CheckedTensor compared(TensorId tensor, const Value& expected) const {
    return fuseflow::compared(tensor, value_of(data_.storage[tensor]), expected, rounds_of(tensor),
                              settings_.tolerance, "the reference");
  }

  void evaluate_with(bool bounds, std::vector<TensorId> wanted,
                     std::function<void(TensorId, const Value&)> on_result) const {
    evaluate(regions_ ? *regions_ : program_, inputs_,
             reference_options(settings_, bounds, std::move(wanted), std::move(on_result)));
  }

  const Program& program_;
  const TensorData& data_;
  const CheckSettings& settings_;
  std::vector<std::shared_ptr<const Storage>> inputs_;
  std::vector<bool> one_region_;    ///< by TensorId: what one region computes of what is given
  std::optional<Program> regions_;  ///< what is evaluated, where that is not the whole program
};

}  // namespace

CheckedTensor compared(TensorId tensor, const Value& actual, const Value& expected,
                       RoundingScope rounds, double tolerance, std::string against) {
  const bool equal = expected.fixed && rounds != RoundingScope::all;
  const double allowed = equal ? 0 : tolerance;
  CheckedTensor one{tensor, compare(actual, expected, allowed), false, std::move(against)};
  one.passes = one.comparison.passes(allowed);
  if (equal) one.why = "nothing of it rounds";
  if (equal || !one.passes || rounds != RoundingScope::in_one_region) return one;
  const double examined = std::min(tolerance, kExamined);
  if (one.comparison.excused == 0 && one.comparison.passes(examined)) return one;
  Comparison closer = compare(actual, expected, examined);
  if (closer.passes(examined)) return one;
  one.comparison = closer;
  one.passes = false;
  one.why = "it rounds by less";
  return one;
}

ReferenceOptions reference_options(const CheckSettings& settings, bool bounds,
                                   std::vector<TensorId> wanted,
                                   std::function<void(TensorId, const Value&)> on_result) {
  ReferenceOptions options;
  options.threads = settings.threads;
  options.max_bytes = settings.max_bytes;
  options.stop = settings.stop;
  options.keep_all = false;
  options.bounds = bounds;
  options.wanted = std::move(wanted);
  options.on_result = std::move(on_result);
  return options;
}

ReferenceCheck check_reference(const Program& program, const TensorData& data,
                               const std::vector<TensorId>& written,
                               const CheckSettings& settings) {
  const ReferenceChecker checker(program, data, settings);
  ReferenceCheck result;
  checker.assert_inputs();
  try {
    checker.compare_all(written, result.tensors);
    checker.compare_within_rounding(result.tensors);
    checker.compare_rewritten(written, result.tensors);
    compare_regions(program, data, settings, result.tensors);
  } catch (const ReferenceStopped& stopped) {
    result.stopped = stopped.what();
  } catch (const std::bad_alloc&) {
    result.stopped = "out of memory";
  }
  return result;
}

namespace {

/// Whether dimensions of `parts` in a row multiply to those of `whole`: [20,3,4] for [20,12].
bool are_parts(const std::vector<int64_t>& parts, const std::vector<int64_t>& whole) {
  size_t at = 0;
  for (const int64_t extent : whole) {
    int64_t product = 1;
    while (at < parts.size() && product < extent) product *= std::max<int64_t>(parts[at++], 1);
    while (at < parts.size() && parts[at] == 1 && product == extent) ++at;
    if (product != extent) return false;
  }
  return at == parts.size();
}

/// The file may have the model's shape, or as one a dimension (heads, say) whose parts the result
/// keeps apart.
Source file_source(const std::string& path, const Tensor& tensor) {
  const std::vector<int64_t> shape = known_shape(tensor), files = file_shape(tensor);
  Source source = parse_binding(path);
  if (source.kind != Source::Kind::file) return source;
  if (!says_extents(source) && shape == files) return source;
  std::vector<int64_t> own = read_raw(source, std::nullopt, {}).shape;
  if (!says_extents(source)) own = own.size() == shape.size() ? shape : files;
  if (own != shape && own != files && !are_parts(shape, own)) {
    throw Error(
        ExitCode::rejected, Location{path},
        fmt::format("{} has shape [{}], expected that of %{}, [{}]", to_string(source),
                    fmt::join(own, ","), quote_if_needed(tensor.name), fmt::join(files, ",")));
  }
  if (own != shape)
    source.params.emplace_back("from_shape", fmt::format("[{}]", fmt::join(own, ",")));
  return source;
}

bool has_as_f32(int64_t number) {
  const auto rounded = static_cast<float>(number);
  // 2^63, what the largest ones are rounded to, is no int64_t.
  return rounded < 0x1p63F && static_cast<int64_t>(rounded) == number;
}

int64_t count_beyond_f32(const std::vector<int64_t>& integers) {
  return std::count_if(integers.begin(), integers.end(), [](int64_t n) { return !has_as_f32(n); });
}

}  // namespace

ExpectedArray load_expected(const Program& program, TensorId tensor, const std::string& path) {
  const Tensor& declared = program.tensors[tensor];
  const std::vector<int64_t> shape = known_shape(declared);
  const Source source = file_source(path, declared);
  ExpectedArray expected;
  expected.values = std::make_shared<const Storage>(
      load(source, shape, dense_format(static_cast<int>(shape.size()))));
  if (is_integer(declared.type)) {
    expected.beyond_f32 = count_beyond_f32(read_raw(source, shape).integers);
  }
  return expected;
}

CheckedTensor check_expected(const Program& program, const TensorData& data, TensorId tensor,
                             const std::string& path, const ExpectedArray& expected,
                             double tolerance) {
  if (data.find(tensor) == nullptr) {
    throw Error(ExitCode::usage, fmt::format("%{} is not written by the program",
                                             quote_if_needed(program.tensors[tensor].name)));
  }
  const bool whole = is_integer(program.tensors[tensor].type);
  CheckedTensor one = compared(tensor, value_of(data.storage[tensor]), value_of(expected.values),
                               RoundingScope::all, whole ? 0 : tolerance, path);
  if (whole) one.why = "integers must be equal";
  one.beyond_f32 = expected.beyond_f32;
  return one;
}

namespace {

/// "[3, 4]" of a row-major position in the tensor's files.
std::string place_of(const Tensor& tensor, int64_t position) {
  std::vector<int64_t> coordinates;
  const std::vector<int64_t> shape = file_shape(tensor);
  for (size_t d = shape.size(); d-- > 0; position /= shape[d])
    coordinates.insert(coordinates.begin(), position % shape[d]);
  return fmt::format("[{}]", fmt::join(coordinates, ", "));
}

std::string describe_rounding(const CheckedTensor& checked, int64_t elements) {
  const Comparison& c = checked.comparison;
  const int64_t rounded = c.excused - c.overflowed;
  std::string text = fmt::format(
      "{} of {} elements {} not compared: rounding of sums alone may move {} as far as {} off, by "
      "{:.6g} at most",
      rounded, elements, rounded == 1 ? "is" : "are", rounded == 1 ? "it" : "them",
      rounded == 1 ? "it is" : "they are", c.max_excused_error);
  if (checked.undecided > 0) {
    text += fmt::format("; {} comparison{} on the way {} within rounding of {} operands",
                        checked.undecided, checked.undecided == 1 ? "" : "s",
                        checked.undecided == 1 ? "is" : "are",
                        checked.undecided == 1 ? "its" : "their");
  }
  return text;
}

std::string describe_overflow(const Tensor& tensor, const Comparison& c, int64_t elements) {
  const bool one = c.overflowed == 1;
  const bool placed = c.first_overflowed >= 0 && !tensor.shape.empty();
  return fmt::format(
      "{} of {} elements {} not compared: {} infinite or NaN, and {} in the reference, or the "
      "reverse; a sum on the way overflows f32 in one order of its terms and not in another, or a "
      "divisor is within rounding of 0{}",
      c.overflowed, elements, one ? "is" : "are", one ? "it is" : "they are",
      one ? "a number" : "numbers",
      placed ? "; first at " + place_of(tensor, c.first_overflowed) : "");
}

std::string describe_beyond_f32(const CheckedTensor& checked, int64_t elements) {
  const bool one = checked.beyond_f32 == 1;
  return fmt::format(
      "{} of {} elements {} not compared: f32, in which all is computed, does not have the "
      "number{} that {} has for {}, and {} as f32 rounds {}",
      checked.beyond_f32, elements, one ? "is" : "are", one ? "" : "s", checked.against,
      one ? "it" : "them", one ? "it is equal" : "they are equal", one ? "it" : "them");
}

}  // namespace

std::string describe_failure(const Program& program, const CheckedTensor& checked) {
  const Tensor& tensor = program.tensors[checked.tensor];
  const Comparison& c = checked.comparison;
  std::string what = fmt::format("the largest error is {:.6g}, the largest expected value {:.6g}",
                                 c.max_abs_error, c.max_abs_expected);
  if (!checked.why.empty()) what += fmt::format(" ({})", checked.why);
  if (!c.same_infinities) what = "infinities are in other places";
  if (!c.same_nans) what = "NaNs are in other places";
  const std::string place =
      c.worst < 0 ? "where it has no entries" : "at " + place_of(tensor, c.worst);
  return fmt::format("%{} differs from {}: {}, worst {}: expected {}, got {}",
                     quote_if_needed(tensor.name), checked.against, what, place,
                     float_text(c.worst_expected), float_text(c.worst_actual));
}

std::string describe_excused(const Program& program, const CheckedTensor& checked) {
  const Comparison& c = checked.comparison;
  const Tensor& tensor = program.tensors[checked.tensor];
  const int64_t elements = element_count(known_shape(tensor));
  std::vector<std::string> parts;
  if (c.excused > c.overflowed) parts.push_back(describe_rounding(checked, elements));
  if (c.overflowed > 0) parts.push_back(describe_overflow(tensor, c, elements));
  const bool beyond = checked.passes && checked.beyond_f32 > 0;
  if (beyond) parts.push_back(describe_beyond_f32(checked, elements));
  return parts.empty()
             ? ""
             : fmt::format("%{}: {}", quote_if_needed(tensor.name), fmt::join(parts, "; "));
}

std::string describe_neighbours(const Program& program, const CheckedTensor& checked) {
  const int64_t count = checked.comparison.neighbours;
  const Tensor& tensor = program.tensors[checked.tensor];
  if (count == 0) return "";
  return fmt::format(
      "%{}: {} of {} elements {} what {} has next to what is expected, as rounding "
      "explains",
      quote_if_needed(tensor.name), count, element_count(known_shape(tensor)),
      count == 1 ? "is" : "are", element_name(tensor.type));
}

std::vector<std::string> describe_uncompared(const Program& program,
                                             const std::vector<TensorId>& written,
                                             const std::vector<CheckedTensor>& checked) {
  const std::vector<Stored> stored = stored_tensors(program);
  std::vector<bool> compared(program.tensors.size(), false);
  for (const CheckedTensor& one : checked) compared[static_cast<size_t>(one.tensor)] = true;
  std::vector<std::string> lines;
  for (const TensorId tensor : written) {
    if (compared[static_cast<size_t>(tensor)]) continue;
    const bool defined = stored[static_cast<size_t>(tensor)].region >= 0;
    lines.push_back(fmt::format(
        "%{} is not compared: {}",
        quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name),
        defined ? "the reference did not come to it"
                : "no statement says what it should be, its region has a graph alone (--expect "
                  "compares it with an array)"));
  }
  return lines;
}

}  // namespace fuseflow
