// The cached surveys of constant tensors, and the choice of a fill.
#include "import/values/constant_stats.h"

#include <algorithm>

namespace fuseflow {

namespace {

/// A number of this size that is added to scores, or that most entries share, is a mask.
constexpr float kLarge = 1000;

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

const Survey& constant_stats(const ConstantTensor& tensor) {
  if (tensor.surveyed) return *tensor.surveyed;
  if (tensor.integral() && !tensor.sparse())
    return tensor.surveyed.emplace(survey_ints(tensor.ints()));
  const Buffer<float>& values = tensor.sparse() ? tensor.entries().values : tensor.floats();
  return tensor.surveyed.emplace(survey_values(values.span()));
}

Facts facts_of(const ConstantTensor& tensor) {
  const Facts facts = facts_of(constant_stats(tensor));
  return tensor.sparse() ? both(facts, facts_of_constant(0)) : facts;
}

std::optional<float> least_fiber_maximum(const ConstantTensor& tensor,
                                         const std::vector<bool>& along) {
  FiberMaxima maxima(tensor.shape, along);
  if (!maxima.fit()) return std::nullopt;
  std::vector<int64_t> coords(tensor.shape.size());
  const auto add = [&](int64_t position, float value) {
    for (size_t d = coords.size(); d-- > 0; position /= tensor.shape[d])
      coords[d] = position % tensor.shape[d];
    maxima.add(coords, value);
  };
  if (tensor.sparse()) {
    const ConstantEntries& entries = tensor.entries();
    for (size_t e = 0; e < entries.positions.size(); ++e)
      add(entries.positions[e], entries.values[e]);
    return maxima.least(0);
  }
  for (int64_t i = 0; i < tensor.size(); ++i) add(i, tensor.as_float(i));
  return maxima.least(0);
}

double density_of(const ConstantTensor& tensor, float fill) {
  const int64_t size = tensor.size();
  if (size == 0) return 1;
  int64_t present = 0;
  if (tensor.sparse()) {
    present = fill == 0 ? static_cast<int64_t>(tensor.entries().positions.size()) : size;
  } else {
    for (int64_t i = 0; i < size; ++i) present += tensor.as_float(i) != fill;
  }
  return static_cast<double>(present) / static_cast<double>(size);
}

FillChoice choose_fill(const ConstantTensor& tensor, const MaskUse& use, double threshold) {
  const int64_t size = tensor.size();
  if (size == 0) return {};
  const auto choice = [size](float fill, int64_t absent) {
    const auto share = static_cast<double>(absent) / static_cast<double>(size);
    return FillChoice{fill, 1.0 - share, size - absent, false};
  };
  if (tensor.sparse())
    return choice(0, size - static_cast<int64_t>(tensor.entries().positions.size()));
  const Survey& found = constant_stats(tensor);
  const auto mask_of = [&](float fill) {
    int64_t equal = fill == 0 ? found.zeros : 0;
    for (int64_t i = 0; fill != 0 && i < size; ++i) equal += tensor.as_float(i) == fill;
    FillChoice made = choice(fill, equal);
    made.mask = true;
    return made;
  };
  const FillChoice zero = choice(0, found.zeros);
  if (use.read_outside) return zero;
  if (use.closed) {
    const FillChoice made = mask_of(*use.closed);
    if (made.density <= threshold) return made;
  }
  if (found.least <= -kLarge) {
    const FillChoice made = mask_of(found.least);
    if (made.density <= threshold && (use.added || made.density < zero.density)) return made;
  }
  if (found.largest >= kLarge && use.subtracted) {
    const FillChoice made = mask_of(found.largest);
    if (made.density <= threshold) return made;
  }
  if (tensor.type != ElementType::boolean || zero.density <= 0.5) return zero;
  return choice(1, size - found.zeros);
}

}  // namespace fuseflow
