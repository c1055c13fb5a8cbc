// Data with values that sums and products treat in a way of their own. Shared by property tests.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "check.h"

namespace fuseflow::testing {

/// Some stored values become infinite, NaN, 0 or negative.
inline void damage(Inputs& inputs, uint64_t seed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kOdd[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 0, -1.5F};
  uint64_t n = seed * 1000003;
  for (auto& input : inputs) {
    if (!input) continue;
    auto storage = std::make_shared<Storage>(*input);
    std::vector<float> values = storage->values.to_vector();
    for (float& value : values) {
      n = n * 6364136223846793005ULL + 1442695040888963407ULL;
      if ((n >> 33) % 16 == 0) value = kOdd[(n >> 40) % 5];
    }
    storage->values = Buffer<float>(std::move(values));
    input = std::move(storage);
  }
}

}  // namespace fuseflow::testing
