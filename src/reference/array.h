// Arrays over named indices: the working values of the reference evaluation. A view has a stride
// per index of the statement (0 where it does not depend on the index).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/program.h"

namespace fuseflow::reference {

/// data[base + sum of strides[i] * index i]; `strides` has one entry per index of the statement.
struct View {
  const float* data = nullptr;
  int64_t base = 0;
  std::vector<int64_t> strides;
  std::vector<bool> depends;  ///< on which indices (an extent-1 dimension may have any stride)
  std::shared_ptr<const void> owner;
};

/// A contiguous array over `loops` (ascending), row-major.
struct Array {
  std::vector<IndexId> loops;
  std::shared_ptr<std::vector<float>> values;
};

/// Extents of the statement's indices, some of which may be bound to one value (blocking).
struct Domain {
  std::vector<int64_t> first;   ///< first value of each index
  std::vector<int64_t> extent;  ///< number of values

  int64_t size(const std::vector<IndexId>& loops) const {
    double exact = 1;
    int64_t size = 1;
    for (const IndexId loop : loops) {
      exact *= static_cast<double>(extent[loop]);
      size = exact > 4e18 ? INT64_MAX : size * extent[loop];
    }
    return size;
  }
};

inline View view_of(const Array& array, const Domain& domain) {
  View view{array.values->data(), 0, std::vector<int64_t>(domain.extent.size(), 0),
            std::vector<bool>(domain.extent.size(), false), array.values};
  int64_t stride = 1;
  for (auto loop = array.loops.rbegin(); loop != array.loops.rend(); ++loop) {
    view.strides[*loop] = stride;
    view.depends[*loop] = true;
    stride *= domain.extent[*loop];
  }
  return view;
}

/// Calls body(offsets) for every point of `loops` in row-major order, where offsets[v] is the
/// position in view v relative to its data. Index values count from 0 within the domain.
template <class Body>
void for_each_point(const std::vector<IndexId>& loops, const Domain& domain,
                    const std::vector<const View*>& views, Body&& body) {
  std::vector<int64_t> offsets;
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
