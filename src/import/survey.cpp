// One pass over a constant's values, in lanes that need no branches: it costs little more than
// reading the memory.
#include "import/survey.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace fuseflow {

namespace {

constexpr size_t kLanes = 16;
constexpr size_t kBlock = size_t{1} << 16;  ///< values whose zeros a lane of 32 bits can count
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLarge =
    1000;  ///< a number of this size that most entries share is a mask, not a weight

/// Adds up to kBlock values to the survey.
void survey_block(std::span<const float> values, Survey& total) {
  std::array<float, kLanes> least;
  std::array<float, kLanes> largest;
  std::array<int32_t, kLanes> zeros{};
  std::array<int32_t, kLanes> nans{};
  least.fill(total.least);
  largest.fill(total.largest);
  const auto add = [&](size_t lane, float v) {
    least[lane] = v < least[lane] ? v : least[lane];
    largest[lane] = v > largest[lane] ? v : largest[lane];
    zeros[lane] += v == 0 ? 1 : 0;
    nans[lane] |= v != v ? 1 : 0;
  };
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) add(0, values[i]);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.least = std::min(total.least, least[lane]);
    total.largest = std::max(total.largest, largest[lane]);
    total.zeros += zeros[lane];
    total.nan = total.nan || nans[lane] != 0;
  }
}

Survey survey_ints(const std::vector<int64_t>& values) {
  Survey result;
  for (const int64_t v : values) {
    result.least = std::min(result.least, static_cast<float>(v));
    result.largest = std::max(result.largest, static_cast<float>(v));
    result.zeros += v == 0 ? 1 : 0;
  }
  return result;
}

}  // namespace

const Survey& survey_of(const HostTensor& tensor) {
  if (tensor.surveyed) return *tensor.surveyed;
  if (tensor.integral() && !tensor.sparse())
    return tensor.surveyed.emplace(survey_ints(tensor.ints()));
  Survey result;
  const std::span<const float> values =
      (tensor.sparse() ? tensor.entries().values : tensor.floats()).span();
  for (size_t at = 0; at < values.size(); at += kBlock) {
    survey_block(values.subspan(at, std::min(kBlock, values.size() - at)), result);
  }
  return tensor.surveyed.emplace(result);
}

Facts facts_of(const HostTensor& tensor) {
  const Survey& found = survey_of(tensor);
  Facts facts;
  facts.no_nan = !found.nan;
  facts.below_inf = !found.nan && found.largest != kInfinity;
  facts.finite = facts.below_inf && found.least != -kInfinity;
  facts.nonnegative = !found.nan && found.least >= 0;
  facts.nonzero = found.zeros == 0;
  return tensor.sparse() ? both(facts, facts_of_constant(0)) : facts;
}

FillChoice choose_fill(const HostTensor& tensor, std::optional<float> wanted, double threshold) {
  const int64_t size = tensor.size();
  if (size == 0) return {};
  const auto choice = [size](float fill, int64_t absent) {
    const auto share = static_cast<double>(absent) / static_cast<double>(size);
    return FillChoice{fill, 1.0 - share, size - absent, false};
  };
  if (tensor.sparse())
    return choice(0, size - static_cast<int64_t>(tensor.entries().positions.size()));
  const Survey& found = survey_of(tensor);
  const auto mask_of = [&](float fill) {
    int64_t equal = fill == 0 ? found.zeros : 0;
    for (int64_t i = 0; fill != 0 && i < size; ++i) equal += tensor.as_float(i) == fill;
    FillChoice made = choice(fill, equal);
    made.mask = true;
    return made;
  };
  std::vector<float> masks;
  if (wanted) masks.push_back(*wanted);
  if (found.least <= -kLarge) masks.push_back(found.least);
  if (found.largest >= kLarge) masks.push_back(found.largest);  // a mask that is subtracted
  for (const float fill : masks) {
    const FillChoice made = mask_of(fill);
    if (made.density <= threshold) return made;
  }
  const FillChoice zero = choice(0, found.zeros);
  if (tensor.type != ElementType::boolean || zero.density <= 0.5) return zero;
  return choice(1, size - found.zeros);
}

}  // namespace fuseflow
