// Where the elements of the tiles of one tensor are in its dense storage.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "sim/common/tensor_data.h"
#include "tensor/format.h"

namespace fuseflow {

inline constexpr int64_t kPaddedPosition = -2;   ///< the element is padding of its tile
inline constexpr int64_t kOutsidePosition = -1;  ///< its subscripts are outside of the tensor

/// Throws Error(rejected), at the tensor, where it has no dense data for a tile_load.
void require_dense(const Program& program, const TensorData& data, TensorId tensor);

class TileAccess {
 public:
  /// Tiles of a load or a store over `dims`; of the dimension `batch` a tile has one element. -1:
  /// there is none.
  TileAccess(const Graph& graph, const Node& node, std::vector<int> dims, int batch,
             const Format& format, std::vector<int64_t> shape);

  /// Tiles of a tile_coordinate, whose one subscript is a number.
  TileAccess(const Graph& graph, const Node& node, std::vector<int> dims, int batch)
      : TileAccess(graph, node, std::move(dims), batch, dense_format(1), {1}) {}

  /// Calls `visit` with the position of each element of a tile, row-major. `at`: the tile along
  /// each dimension; those beyond its end have one tile.
  template <typename Visit>
  void for_each(std::span<const int64_t> at, const Visit& visit) const {
    const AllParts parts = parts_at(at);
    for_each_element(parts, [&](const Element& e) { visit(position(parts, e)); });
  }

  /// Calls `visit` with the value of the first subscript at each element; padding has any.
  template <typename Visit>
  void for_each_coordinate(std::span<const int64_t> at, const Visit& visit) const {
    const AllParts parts = parts_at(at);
    for_each_element(parts, [&](const Element& e) { visit(coordinate(parts, e, 0)); });
  }

 private:
  /// What elements along one dimension of tiles add to each coordinate, and to the position.
  struct Parts {
    int64_t elements = 1, present = 1;
    std::vector<int64_t> coordinates;
    std::vector<int64_t> positions;  ///< not where coordinates are coupled
  };
  struct AllParts {
    std::vector<int64_t> base;  ///< of each coordinate
    std::array<Parts, 3> along;
  };
  using Element = std::array<int64_t, 3>;

  template <typename Visit>
  static void for_each_element(const AllParts& parts, const Visit& visit) {
    for (int64_t i = 0; i < parts.along[0].elements; ++i) {
      for (int64_t j = 0; j < parts.along[1].elements; ++j) {
        for (int64_t k = 0; k < parts.along[2].elements; ++k) visit(Element{i, j, k});
      }
    }
  }

  /// The coordinates of the first element of the element of the batch that a tile is of.
  std::vector<int64_t> base_of(std::span<const int64_t> at) const;
  AllParts parts_at(std::span<const int64_t> at) const;
  Parts parts_of(int dim, int64_t first_element, int64_t count) const;
  void add(int digit, int64_t value, int64_t* coordinates) const;
  void find_owners();
  void add_positions(size_t dim, const std::vector<int64_t>& base, Parts& parts) const;
  /// The coordinate of an element along one dimension of the tensor, inside or not.
  static int64_t coordinate(const AllParts& parts, const Element& at, size_t of);
  int64_t position(const AllParts& parts, const Element& at) const {
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] >= parts.along[d].present) return kPaddedPosition;
    }
    if (coupled_) return coupled_position(parts, at);
    int64_t position = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      position += parts.along[d].positions[static_cast<size_t>(at[d])];
    }
    return position < 0 ? kOutsidePosition : position;
  }
  int64_t coupled_position(const AllParts& parts, const Element& at) const;

  const Graph& g_;
  const Node& node_;
  std::vector<int> dims_;
  int batch_;
  std::vector<int64_t> shape_, stride_;
  std::vector<size_t> owner_;  ///< which of `dims` each dimension of the tensor depends on
  bool coupled_ = false;       ///< some dimension of the tensor depends on two of them (windows)
};

}  // namespace fuseflow
