// Where edges stand in their matrix: its coordinates, and constants with its entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/finish/edge_class.h"

namespace fuseflow {

struct EdgePlaces {
  std::vector<EdgeEnds> coordinates;  ///< of each edge; perhaps one that numbers equal edges
  std::vector<int64_t> positions;     ///< by edge, row-major
  bool counted = false;               ///< several edges share a place: the matrix has their number
  std::vector<int64_t> shape() const;
};

/// Edges with the same ends share a place if nothing tells them apart, else a last coordinate
/// numbers them. Nothing if the matrix would have too many places.
std::optional<EdgePlaces> edge_places(const DraftProgram& draft, const EdgeClass& edges);

/// 1 at each edge, or how many edges there are.
ConstantPtr edge_matrix(const EdgePlaces& places);

/// By edge along `dim` of `values` (of any rank): the places first, then the other dimensions.
ConstantPtr on_matrix(const EdgePlaces& places, const ConstantTensor& values, size_t dim);

/// 1 where the place is that of the edge: the dimensions of the matrix, then one over edges.
ConstantPtr edge_numbers(const EdgePlaces& places);

}  // namespace fuseflow
