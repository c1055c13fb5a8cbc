// Why no kernel is generated for a region.
#pragma once

#include <fmt/format.h>

#include <string>

#include "graph/graph.h"
#include "support/error.h"

namespace fuseflow::cuda {

/// Thrown inside src/cuda; generate.h turns it into a refusal that names the region.
struct Refused {
  std::string reason;
};

/// Throws Refused for products of elements that the multiplying instructions do not take.
inline void check_product_bytes(const Graph& graph) {
  constexpr int64_t kMost = 2;
  if (graph.tiles->element_bytes <= kMost) return;
  throw Refused{fmt::format(
      "products of elements of {} bytes are not generated: `fuseflow-import --type f16` "
      "imports a model with smaller ones",
      graph.tiles->element_bytes)};
}

}  // namespace fuseflow::cuda
