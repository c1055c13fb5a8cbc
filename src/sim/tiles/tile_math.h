// What nodes of a graph of tiles compute on the tiles at hand, where these come from and where they
// go: the parts of values.h that know no loops.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/common/written_tensors.h"
#include "sim/tiles/tile_access.h"

namespace fuseflow {

using Tile = std::vector<float>;  ///< row-major in the order of its stream's dimensions

/// Rows, what is summed, and columns of a product of tiles.
struct ProductSizes {
  size_t rows, depth, columns;
  size_t inner;  ///< elements of a row of the left tile, of which `depth` exist
};
/// out[rows x columns] += left[rows x depth] * right[depth x columns], in the order of the depth.
void add_product(const float* left, const float* right, float* out, const ProductSizes& sizes);

/// Elements of a stream's tile from one to the next along a dimension; 0: it has none of it.
int stride_along(const Graph& graph, StreamId stream, int dim);

/// What a load gives for a position: the fill outside of the tensor, 0 in padding.
float element_at(const Storage& storage, int64_t position);

/// Appends the tile of a load at a place, for TileAccess::for_each.
void load_tile(const Graph& graph, const Node& load, const Storage& storage, int batch,
               std::span<const int64_t> at, Tile& out);

/// Nodes, evaluated on the tiles at hand.
class TileNodes {
 public:
  TileNodes(const TileNodes&) = delete;
  TileNodes& operator=(const TileNodes&) = delete;
  virtual ~TileNodes() = default;

 protected:
  explicit TileNodes(const Graph& graph) : g_(graph), at_(graph.indices.size(), 0) {}

  virtual Tile& value(StreamId s) = 0;  ///< the tile of a stream that is there now

  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  const GraphIndex& index(int dim) const { return g_.indices[static_cast<size_t>(dim)]; }
  const std::vector<int>& dims_of(StreamId s) const {
    return g_.streams[static_cast<size_t>(s)].block;
  }
  size_t block(int dim) const { return static_cast<size_t>(index(dim).block); }
  /// Elements of the tile at hand along a dimension that exist.
  size_t present(int dim) const;

  void map(const Node& at);
  /// Adds the left tile times the right one to a tile: the sum over those of `summed` that exist.
  void multiply_add(const Node& at, int summed, Tile& out);
  /// Combines the rows of a tile with what there is of each so far.
  void reduce_rows(const Node& at, int summed, Tile& out);
  /// Divides the sums of a mean.
  void finish(const Node& at, int summed);

  const Graph& g_;
  std::vector<int64_t> at_;  ///< the tile along each dimension
};

/// The tensor of a tile_store as it is filled.
class TileResult {
 public:
  /// `sizes`: of all that the tiles give. Throws Error(rejected) where the tensor has another
  /// number of elements.
  TileResult(const Program& program, TensorId tensor, const std::vector<int64_t>& sizes);

  const Tensor& tensor() const { return tensor_; }
  TensorId id() const { return written_.tensor; }
  const std::vector<int64_t>& shape() const { return shape_; }
  /// Takes the tile of a store at a place; `adds`: to what is there, zeros at first. Padding is
  /// dropped. Throws Error(rejected) outside of the tensor.
  void put(const TileAccess& to, std::span<const int64_t> at, const Tile& tile, bool adds) {
    const float* next = tile.data();
    to.for_each(at, [&](int64_t position) {
      if (position == kOutsidePosition) refuse_outside();
      const float value = *next++;
      if (position < 0) return;
      float& element = written_.values[static_cast<size_t>(position)];
      element = adds ? element + value : value;
    });
  }
  std::shared_ptr<const Storage> done(const Program& program) {
    return assemble_result(program, std::move(written_));
  }

 private:
  [[noreturn]] void refuse_outside() const;

  const Tensor& tensor_;
  std::vector<int64_t> shape_;
  WrittenTensor written_;
};

}  // namespace fuseflow
