#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "reference/reference.h"
#include "tensor/element_type.h"

namespace fuseflow {

namespace {

struct Pair {
  float actual;
  float expected;
  float bound;       // how far apart rounding may move the two
  int64_t position;  // row-major; -1: the fill
};
using Visit = std::function<void(const Pair&)>;

struct Entry {
  std::vector<int64_t> coords;
  float value;
  float bound;
};

std::vector<Entry> sorted_entries(const Value& value) {
  std::vector<Entry> entries;
  const float* const first = value.sparse->values.data();
  for_each_stored(*value.sparse, [&](std::span<const int64_t> coords, const float& entry) {
    const float bound = value.bounds ? (*value.bounds)[&entry - first] : 0.0F;
    entries.push_back({{coords.begin(), coords.end()}, entry, bound});
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.coords < b.coords; });
  return entries;
}

/// Two sparse values: entries of either, by merging their sorted coordinates, and the fills.
void for_each_stored_pair(const Value& actual, const Value& expected, const Visit& visit) {
  const auto a = sorted_entries(actual), e = sorted_entries(expected);
  const Entry own_rest{{}, actual.sparse->fill, actual.fill_bound};
  const Entry rest{{}, expected.sparse->fill, expected.fill_bound};
  visit({own_rest.value, rest.value, rest.bound + own_rest.bound, -1});
  for (size_t i = 0, j = 0; i < a.size() || j < e.size();) {
    const bool take_a = j == e.size() || (i < a.size() && a[i].coords <= e[j].coords);
    const bool take_e = i == a.size() || (j < e.size() && e[j].coords <= a[i].coords);
    const auto& coords = take_a ? a[i].coords : e[j].coords;
    int64_t position = 0;
    for (size_t d = 0; d < coords.size(); ++d) position = position * actual.shape[d] + coords[d];
    const Entry& wanted = take_e ? e[j] : rest;
    const Entry& found = take_a ? a[i] : own_rest;
    visit({found.value, wanted.value, wanted.bound + found.bound, position});
    i += take_a ? 1 : 0;
    j += take_e ? 1 : 0;
  }
}

/// Compares pairs one after another, once the largest expected value is known.
class Comparer {
 public:
  Comparer(Comparison& result, double tolerance, ElementType type)
      : result_(result), tolerance_(tolerance), type_(type) {}

  void add(const Pair& pair) {
    const auto [a, e, bound, position] = pair;
    const bool nan_differs = std::isnan(a) != std::isnan(e);
    const bool inf_differs =
        (std::isinf(a) || std::isinf(e)) && !nan_differs && !std::isnan(a) && a != e;
    const bool finite = std::isfinite(a) && std::isfinite(e);
    const double error = finite ? std::fabs(static_cast<double>(a) - e) : 0;
    if (excused(nan_differs || inf_differs ? INFINITY : error, bound)) {
      if (finite && are_neighbours(a, e)) {
        ++result_.neighbours;
        return;
      }
      ++result_.excused;
      if (!finite && result_.overflowed++ == 0) result_.first_overflowed = position;
      result_.max_excused_error = std::max(result_.max_excused_error, error);
      return;
    }
    if (nan_differs || inf_differs) {
      note_worst(pair);
      result_.same_nans = result_.same_nans && !nan_differs;
      result_.same_infinities = result_.same_infinities && !inf_differs;
    }
    if (finite) add_error(error, pair);
  }

 private:
  /// Whether no number of a narrow type lies between two of its numbers. The two truth values are
  /// opposites.
  bool are_neighbours(float a, float e) const {
    if (holds_f32(type_) || type_ == ElementType::boolean) return false;
    const float between = rounded(a + (e - a) / 2, type_);
    return between == a || between == e;
  }

  bool excused(double error, float bound) const {
    return error > result_.allowed(tolerance_) && error <= bound;
  }

  void add_error(double error, const Pair& pair) {
    const double least = kRelativeFloor * result_.max_abs_expected;
    const double size = std::max(std::fabs(static_cast<double>(pair.expected)), least);
    if (error > 0) result_.max_rel_error = std::max(result_.max_rel_error, error / size);
    if (error <= result_.max_abs_error) return;
    result_.max_abs_error = error;
    note_worst(pair);
  }

  /// The first infinity or NaN that differs stays.
  void note_worst(const Pair& pair) {
    if (!result_.same_nans || !result_.same_infinities) return;
    result_.worst = pair.position;
    result_.worst_expected = pair.expected;
    result_.worst_actual = pair.actual;
  }

  Comparison& result_;
  double tolerance_;
  ElementType type_;
};

double largest_finite(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return largest;
}

std::shared_ptr<const std::vector<float>> spelled_out(const Value& value) {
  if (value.dense) return value.dense;
  return std::make_shared<const std::vector<float>>(to_dense(*value.sparse));
}

std::shared_ptr<const std::vector<float>> spelled_out_bounds(const Value& value) {
  if (value.dense || (!value.bounds && value.fill_bound == 0)) return value.bounds;
  Storage bounds = *value.sparse;  // the same levels, with bounds for values
  bounds.fill = value.fill_bound;
  bounds.values =
      value.bounds ? *value.bounds : std::vector<float>(value.sparse->values.size(), 0.0F);
  return std::make_shared<const std::vector<float>>(to_dense(bounds));
}

}  // namespace

bool Comparison::passes(double tolerance) const {
  return same_nans && same_infinities && max_abs_error <= allowed(tolerance);
}

double Comparison::allowed(double tolerance) const {
  if (max_abs_expected == 0) return 0;
  constexpr double kSmallestNormal = std::numeric_limits<float>::min();
  return tolerance * std::max(max_abs_expected, kSmallestNormal);
}

Comparison compare(const Value& actual, const Value& expected, double tolerance) {
  if (actual.shape != expected.shape) {
    throw Error(ExitCode::rejected, "the compared results have different shapes");
  }
  Comparison result;
  Comparer comparer(result, tolerance, expected.type);
  constexpr int64_t kSpellOut = int64_t{1} << 28;
  if (actual.sparse && expected.sparse && actual.elements() > kSpellOut) {
    const float fill[] = {expected.sparse->fill};
    result.max_abs_expected =
        std::max(largest_finite(expected.sparse->values.span()), largest_finite(fill));
    for_each_stored_pair(actual, expected, [&](const Pair& pair) { comparer.add(pair); });
    return result;
  }
  const auto a = spelled_out(actual), e = spelled_out(expected);
  const auto of_a = spelled_out_bounds(actual), of_e = spelled_out_bounds(expected);
  result.max_abs_expected = largest_finite(*e);
  for (size_t i = 0; i < a->size(); ++i) {
    const float bound = (of_a ? (*of_a)[i] : 0.0F) + (of_e ? (*of_e)[i] : 0.0F);
    comparer.add({(*a)[i], (*e)[i], bound, static_cast<int64_t>(i)});
  }
  return result;
}

}  // namespace fuseflow
