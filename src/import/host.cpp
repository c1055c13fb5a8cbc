// Constructors and statistics of host tensors.
#include "import/host.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuseflow {

HostPtr host_ints(std::vector<int64_t> values, std::vector<int64_t> shape, ElementType type) {
  auto result = std::make_shared<HostTensor>();
  result->type = type;
  result->shape = std::move(shape);
  result->ints = std::move(values);
  return result;
}

HostPtr host_floats(std::vector<float> values, std::vector<int64_t> shape) {
  auto result = std::make_shared<HostTensor>();
  result->shape = std::move(shape);
  result->floats = Buffer<float>(std::move(values));
  return result;
}

HostPtr host_sparse(std::vector<std::pair<int64_t, float>> entries, std::vector<int64_t> shape,
                    ElementType type) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  auto result = std::make_shared<HostTensor>();
  std::vector<float> values;
  for (const auto& [position, value] : entries) {
    if (!result->positions.empty() && result->positions.back() == position) {
      values.back() += value;
    } else {
      result->positions.push_back(position);
      values.push_back(value);
    }
  }
  result->type = type;
  result->shape = std::move(shape);
  result->floats = Buffer<float>(std::move(values));
  result->sparse = true;
  return result;
}

float HostTensor::sparse_at(int64_t i) const {
  const auto found = std::lower_bound(positions.begin(), positions.end(), i);
  if (found == positions.end() || *found != i) return 0;
  return floats[static_cast<size_t>(found - positions.begin())];
}

Facts facts_of(const HostTensor& tensor) {
  Facts facts{true, true, true, true, true};
  if (tensor.sparse) {
    HostTensor entries;
    entries.floats = tensor.floats;
    return both(facts_of(entries), facts_of_constant(0));
  }
  if (tensor.integral()) {
    for (const int64_t v : tensor.ints) {
      facts.nonnegative = facts.nonnegative && v >= 0;
      facts.nonzero = facts.nonzero && v != 0;
    }
    return facts;
  }
  // Branch-free, so that a scan costs no more than reading the memory.
  bool nan = false, inf = false, plus_inf = false, negative = false, zero = false;
  for (const float v : tensor.floats) {
    nan |= v != v;
    inf |= std::fabs(v) == std::numeric_limits<float>::infinity();
    plus_inf |= v == std::numeric_limits<float>::infinity();
    negative |= v < 0;
    zero |= v == 0;
  }
  facts.finite = !nan && !inf;
  facts.no_nan = !nan;
  facts.nonnegative = !nan && !negative;
  facts.nonzero = !zero;
  facts.below_inf = !nan && !plus_inf;
  return facts;
}

FillChoice choose_fill(const HostTensor& tensor, std::optional<float> wanted, double threshold) {
  const int64_t size = tensor.size();
  if (size == 0) return {};
  if (tensor.sparse) {
    const auto present = static_cast<int64_t>(tensor.positions.size());
    return {0, static_cast<double>(present) / static_cast<double>(size), present, false};
  }
  const auto choice_of = [&](float fill) {
    int64_t equal = 0;
    for (int64_t i = 0; i < size; ++i) equal += tensor.as_float(i) == fill;
    return FillChoice{fill, 1.0 - static_cast<double>(equal) / static_cast<double>(size),
                      size - equal, false};
  };
  if (wanted) {
    FillChoice choice = choice_of(*wanted);
    choice.mask = true;
    if (choice.density <= threshold) return choice;
  }
  float least = tensor.as_float(0);
  for (int64_t i = 0; i < size; ++i) least = std::min(least, tensor.as_float(i));
  if (least <= -1000) {
    FillChoice choice = choice_of(least);
    choice.mask = true;
    if (choice.density <= threshold) return choice;
  }
  float largest = tensor.as_float(0);
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, tensor.as_float(i));
  if (largest >= 1000) {  // a mask that is subtracted
    FillChoice choice = choice_of(largest);
    choice.mask = true;
    if (choice.density <= threshold) return choice;
  }
  const FillChoice zero = choice_of(0);
  if (tensor.type != ElementType::boolean || zero.density <= 0.5) return zero;
  return choice_of(1);
}

}  // namespace fuseflow
