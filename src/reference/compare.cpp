#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "reference/reference.h"

namespace fuseflow {

namespace {

/// Calls visit(actual, expected, row-major position) for pairs of elements.
using Visit = std::function<void(float, float, int64_t)>;

/// Two sparse values: entries of either, by merging their sorted coordinates, and the fills.
void for_each_stored_pair(const Storage& actual, const Storage& expected, const Visit& visit) {
  using Entry = std::pair<std::vector<int64_t>, float>;
  const auto sorted = [](const Storage& storage) {
    std::vector<Entry> entries;
    for_each_stored(storage, [&](std::span<const int64_t> coords, float value) {
      entries.emplace_back(std::vector<int64_t>(coords.begin(), coords.end()), value);
    });
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.first < b.first; });
    return entries;
  };
  const auto a = sorted(actual), e = sorted(expected);
  visit(actual.fill, expected.fill, -1);
  for (size_t i = 0, j = 0; i < a.size() || j < e.size();) {
    const bool take_a = j == e.size() || (i < a.size() && a[i].first <= e[j].first);
    const bool take_e = i == a.size() || (j < e.size() && e[j].first <= a[i].first);
    const auto& coords = take_a ? a[i].first : e[j].first;
    int64_t position = 0;
    for (size_t d = 0; d < coords.size(); ++d) position = position * actual.shape[d] + coords[d];
    visit(take_a ? a[i].second : actual.fill, take_e ? e[j].second : expected.fill, position);
    i += take_a ? 1 : 0;
    j += take_e ? 1 : 0;
  }
}

/// Adds one pair of elements to the comparison.
void add_pair(Comparison& result, float actual, float expected, int64_t position) {
  const bool nan_differs = std::isnan(actual) != std::isnan(expected);
  const bool inf_differs = (std::isinf(actual) || std::isinf(expected)) && !nan_differs &&
                           !std::isnan(actual) && actual != expected;
  if (nan_differs || inf_differs) {
    if (result.same_nans && result.same_infinities) result.worst = position;
    result.same_nans = result.same_nans && !nan_differs;
    result.same_infinities = result.same_infinities && !inf_differs;
  }
  if (!std::isfinite(actual) || !std::isfinite(expected)) return;
  const double error = std::fabs(static_cast<double>(actual) - expected);
  const double least = kRelativeFloor * result.max_abs_expected;
  const double size = std::max(std::fabs(static_cast<double>(expected)), least);
  if (error > 0) result.max_rel_error = std::max(result.max_rel_error, error / size);
  if (error > result.max_abs_error) {
    result.max_abs_error = error;
    if (result.same_nans && result.same_infinities) result.worst = position;
  }
}

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

}  // namespace

bool Comparison::passes(double tolerance) const {
  return same_nans && same_infinities && max_abs_error <= tolerance * max_abs_expected;
}

Comparison compare(const Value& actual, const Value& expected) {
  if (actual.shape != expected.shape) {
    throw Error(ExitCode::rejected, "the compared results have different shapes");
  }
  Comparison result;
  const auto add = [&](float a, float e, int64_t position) { add_pair(result, a, e, position); };
  constexpr int64_t kSpellOut = int64_t{1} << 28;
  if (actual.sparse && expected.sparse && actual.elements() > kSpellOut) {
    result.max_abs_expected = largest_finite(expected.sparse->values.span());
    if (std::isfinite(expected.sparse->fill)) {
      const double fill = std::fabs(static_cast<double>(expected.sparse->fill));
      result.max_abs_expected = std::max(result.max_abs_expected, fill);
    }
    for_each_stored_pair(*actual.sparse, *expected.sparse, add);
    return result;
  }
  const auto a = spelled_out(actual), e = spelled_out(expected);
  result.max_abs_expected = largest_finite(*e);
  for (size_t i = 0; i < a->size(); ++i) add((*a)[i], (*e)[i], static_cast<int64_t>(i));
  return result;
}

}  // namespace fuseflow
