// In which order a product of tiles sums: what cores and clusters sum apart is added afterwards, so
// that f32 results depend on it. Of all forms of graphs of tiles. Nothing of values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/tiles.h"

namespace fuseflow {

/// Tiles of the dimension that is summed, in order, of each of those who sum a part.
using SumParts = std::vector<std::vector<int64_t>>;

class TileSums {
 public:
  explicit TileSums(const Graph& graph);

  /// Clusters of a chain that add to the same tiles of its result, one after the other; of another
  /// form 1: what several clusters add to is one sum of more parts.
  int64_t clusters() const { return chain_ ? chain_->sharers() : 1; }
  /// Which of them sums next.
  void begin(int64_t cluster);

  /// The tiles along a dimension that the cluster walks.
  std::vector<int64_t> walked(int dim) const;
  /// The parts of a product's sum over a dimension at a place: the tile along each dimension.
  SumParts parts(int dim, const std::vector<int64_t>& at) const;

 private:
  std::vector<int64_t> steps(Dim dim) const;
  SumParts parts_of_c() const;
  SumParts parts_of_e(int64_t column) const;

  const Graph& g_;
  const TileForm form_;
  std::optional<TileGeometry> chain_;
  Extents cluster_{{0, 0, 0, 0}};  ///< of a chain: the steps along dimensions spread over clusters
};

}  // namespace fuseflow
