// Where the elements of the tiles of one tensor are in its dense storage.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "sim/common/tensor_data.h"
#include "sim/tiles/addressing.h"
#include "tensor/format.h"

namespace fuseflow {

/// Throws Error(rejected), at the tensor, where it has no dense data for a tile_load.
void require_dense(const Program& program, const TensorData& data, TensorId tensor);

class TileAccess {
 public:
  /// Tiles of a load or a store over `dims`; of the dimension `batch` a tile has one element.
  TileAccess(const Graph& graph, const Node& node, std::vector<int> dims, int batch,
             const Format& format, std::vector<int64_t> shape);

  /// Of a tile_coordinate, whose one subscript is a number.
  TileAccess(const Graph& graph, const Node& node, std::vector<int> dims, int batch)
      : TileAccess(graph, node, std::move(dims), batch, dense_format(1), {1}) {}

  /// Calls `visit` with the position of each element of a tile, row-major. `at`: the tile along
  /// each dimension; those beyond its end have one tile.
  template <typename Visit>
  void for_each(std::span<const int64_t> at, const Visit& visit) {
    const std::array<Parts, 3> parts = parts_at(at);
    for_each_element(parts, [&](const std::array<int64_t, 3>& e) { visit(position(parts, e)); });
  }

  /// Calls `visit` with the value of the first subscript at each element; padding has any.
  template <typename Visit>
  void for_each_coordinate(std::span<const int64_t> at, const Visit& visit) {
    const std::array<Parts, 3> parts = parts_at(at);
    for_each_element(parts,
                     [&](const std::array<int64_t, 3>& e) { visit(coordinate(parts, e, 0)); });
  }

 private:
  /// What the elements of a tile add to each coordinate along one dimension.
  struct Parts {
    int64_t elements = 1, present = 1;
    std::vector<int64_t> coordinates;
  };

  template <typename Visit>
  static void for_each_element(const std::array<Parts, 3>& parts, const Visit& visit) {
    for (int64_t i = 0; i < parts[0].elements; ++i) {
      for (int64_t j = 0; j < parts[1].elements; ++j) {
        for (int64_t k = 0; k < parts[2].elements; ++k) visit(std::array<int64_t, 3>{i, j, k});
      }
    }
  }

  std::array<Parts, 3> parts_at(std::span<const int64_t> at);
  Parts parts_of(int dim, int64_t tile, int64_t block) const;
  void add(int digit, int64_t value, int64_t* coordinates) const;
  /// Of one dimension of the tensor, inside or not.
  int64_t coordinate(const std::array<Parts, 3>& parts, const std::array<int64_t, 3>& at,
                     size_t of) const;
  int64_t position(const std::array<Parts, 3>& parts, const std::array<int64_t, 3>& at) const;

  const Graph& g_;
  const Node& node_;
  std::vector<int> dims_;
  int batch_;
  std::vector<int64_t> shape_, stride_, base_;
};

}  // namespace fuseflow
