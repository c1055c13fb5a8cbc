// Arrays over the indices of a statement: where an element lies, and how all of them are visited.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace fuseflow::reference {

using Loops = std::vector<IndexId>;  ///< ascending unless said otherwise

inline bool contains(const Loops& loops, IndexId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

inline Loops without(const Loops& loops, const Loops& others) {
  Loops result;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(result),
               [&](IndexId loop) { return !contains(others, loop); });
  return result;
}

/// data[base + sum of strides[i] * index i]; `strides` has one entry per index of the statement (0
/// where it does not depend on the index).
struct View {
  const float* data = nullptr;
  int64_t base = 0;
  std::vector<int64_t> strides;
};

/// What part of the statement's indices is evaluated: all values of each, or a block of them.
struct Domain {
  std::vector<int64_t> first;   ///< first value of each index
  std::vector<int64_t> extent;  ///< number of values

  /// Number of points, at most INT64_MAX.
  int64_t size(const Loops& loops) const {
    double exact = 1;
    int64_t size = 1;
    for (const IndexId loop : loops) {
      exact *= static_cast<double>(extent[loop]);
      size = exact > 4e18 ? INT64_MAX : size * extent[loop];
    }
    return size;
  }

  /// Strides, per index of the statement, of a row-major array over `loops`.
  std::vector<int64_t> row_major(const Loops& loops) const {
    std::vector<int64_t> strides(extent.size(), 0);
    int64_t stride = 1;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      strides[*loop] = stride;
      stride *= extent[*loop];
    }
    return strides;
  }
};

/// Calls body(offsets) for every point of `loops` in row-major order, where offsets[v] is the
/// position in view v relative to its data. Index values count from 0 within the domain.
template <class Body>
void for_each_point(const Loops& loops, const Domain& domain, const std::vector<const View*>& views,
                    Body&& body) {
  std::vector<int64_t> offsets;
  offsets.reserve(views.size());
  for (const View* view : views) offsets.push_back(view->base);
  std::vector<int64_t> at(loops.size(), 0);
  for (const IndexId loop : loops) {
    if (domain.extent[loop] <= 0) return;
  }
  for (;;) {
    body(offsets);
    size_t depth = loops.size();
    for (;;) {
      if (depth == 0) return;
      --depth;
      const IndexId loop = loops[depth];
      if (++at[depth] < domain.extent[loop]) {
        for (size_t v = 0; v < views.size(); ++v) offsets[v] += views[v]->strides[loop];
        break;
      }
      at[depth] = 0;
      for (size_t v = 0; v < views.size(); ++v) {
        offsets[v] -= views[v]->strides[loop] * (domain.extent[loop] - 1);
      }
    }
  }
}

}  // namespace fuseflow::reference
