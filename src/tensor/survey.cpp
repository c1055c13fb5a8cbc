// The pass runs in lanes that need no branches: it costs little more than reading the memory.
#include "tensor/survey.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fuseflow {

namespace {

constexpr size_t kLanes = 16;
constexpr size_t kBlock = size_t{1} << 16;  ///< values whose zeros a lane of 32 bits can count

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

}  // namespace

Survey survey_values(std::span<const float> values) {
  Survey result;
  for (size_t at = 0; at < values.size(); at += kBlock) {
    survey_block(values.subspan(at, std::min(kBlock, values.size() - at)), result);
  }
  return result;
}

Facts facts_of(const Survey& survey) {
  Facts facts;
  facts.no_nan = !survey.nan;
  facts.nonzero = survey.zeros == 0;
  facts.least = survey.least + 0.0F;  // no -0
  facts.largest = survey.largest + 0.0F;
  return closed(facts);
}

Facts facts_of(const Storage& storage) {
  const Facts facts = facts_of(survey_values(storage.values.span()));
  return storage.format.all_dense() ? facts : both(facts, facts_of_constant(storage.fill));
}

std::optional<Contradiction> find_contradiction(const Storage& storage, const Facts& facts) {
  if (facts == Facts{}) return std::nullopt;
  const bool absent = storage.stored() < storage.elements();
  if (absent && !satisfies(storage.fill, facts)) return Contradiction{{}, true, storage.fill};
  const auto wrong = [&](float value) { return !satisfies(value, facts); };
  if (std::none_of(storage.values.begin(), storage.values.end(), wrong)) return std::nullopt;
  std::optional<Contradiction> found;
  for_each_stored(storage, [&](std::span<const int64_t> coords, float value) {
    if (!found && wrong(value)) found = Contradiction{{coords.begin(), coords.end()}, false, value};
  });
  return found;
}

}  // namespace fuseflow
