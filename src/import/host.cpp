// Constructors of host tensors.
#include "import/host.h"

#include <algorithm>

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

}  // namespace fuseflow
