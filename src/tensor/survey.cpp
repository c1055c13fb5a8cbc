// The pass runs in lanes that need no branches: it costs little more than reading the memory.
#include "tensor/survey.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/stop.h"

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
    stop_if_asked();
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

FiberMaxima::FiberMaxima(std::span<const int64_t> shape, const std::vector<bool>& along)
    : strides_(shape.size(), 0) {
  constexpr int64_t kMostFibers = int64_t{1} << 26;
  int64_t fibers = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (along[d]) {
      fits_ = fits_ && !__builtin_mul_overflow(length_, shape[d], &length_);
    } else {
      strides_[d] = fibers;
      fits_ = fits_ && !__builtin_mul_overflow(fibers, shape[d], &fibers) && fibers <= kMostFibers;
    }
  }
  if (!fits_) return;
  largest_.assign(static_cast<size_t>(fibers), -std::numeric_limits<float>::infinity());
  entries_.assign(static_cast<size_t>(fibers), 0);
}

void FiberMaxima::add(std::span<const int64_t> coords, float value) {
  int64_t fiber = 0;
  for (size_t d = 0; d < coords.size(); ++d) fiber += strides_[d] * coords[d];
  const auto f = static_cast<size_t>(fiber);
  if (value > largest_[f]) largest_[f] = value;
  ++entries_[f];
}

float FiberMaxima::least(float fill) const {
  float least = std::numeric_limits<float>::infinity();
  for (size_t f = 0; f < largest_.size(); ++f) {
    const bool full = entries_[f] == length_;
    least = std::min(least, full || !(fill > largest_[f]) ? largest_[f] : fill);
  }
  return least;
}

std::optional<float> least_fiber_maximum(const Storage& storage, const std::vector<bool>& along) {
  FiberMaxima maxima(storage.shape, along);
  if (!maxima.fit()) return std::nullopt;
  for_each_stored(storage,
                  [&](std::span<const int64_t> coords, float value) { maxima.add(coords, value); });
  return maxima.least(storage.fill);
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
