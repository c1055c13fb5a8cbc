#include "sim/tiles/sums.h"

#include <numeric>

#include "graph/tile_kernel.h"

namespace fuseflow {
namespace {

std::vector<int64_t> tiles_in(const TileRange& range) {
  std::vector<int64_t> tiles(static_cast<size_t>(range.end - range.begin));
  std::iota(tiles.begin(), tiles.end(), range.begin);
  return tiles;
}

}  // namespace

TileSums::TileSums(const Graph& graph) : g_(graph), form_(tile_form(graph)) {
  if (form_ == TileForm::chain) chain_ = tile_geometry(graph);
}

void TileSums::begin(int64_t cluster) {
  if (!chain_) return;
  const int64_t along_k = chain_->steps[Dim::k] / chain_->temporal[Dim::k];
  cluster_[Dim::k] = cluster % along_k;
  cluster_[Dim::n] = cluster / along_k;
}

std::vector<int64_t> TileSums::walked(int dim) const {
  const int64_t extent = g_.indices[dim].extent;
  if (!chain_ || dim != index_of(Dim::n)) return tiles_in({0, extent});
  const std::vector<int64_t> own = steps(Dim::n);
  return tiles_in({own.front() * chain_->shape.n, (own.back() + 1) * chain_->shape.n});
}

SumParts TileSums::parts(int dim, const std::vector<int64_t>& at) const {
  if (chain_) {
    return dim == index_of(Dim::k) ? parts_of_c() : parts_of_e(at[index_of(Dim::l)]);
  }
  if (form_ == TileForm::kernel && dim == kKernelN) {  // a core has a tile of the columns
    SumParts parts;
    for (const int64_t tile : walked(dim)) parts.push_back({tile});
    return parts;
  }
  if (form_ != TileForm::kernel || dim != kKernelK) return {walked(dim)};
  SumParts parts(static_cast<size_t>(depth_parts(g_)));
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const TileRange& range :
         kernel_walk_of(g_, at[kKernelM], at[kKernelG], static_cast<int64_t>(part))) {
      const std::vector<int64_t> tiles = tiles_in(range);
      parts[part].insert(parts[part].end(), tiles.begin(), tiles.end());
    }
  }
  return parts;
}

/// The steps of a cluster of a chain along a dimension.
std::vector<int64_t> TileSums::steps(Dim dim) const {
  return tiles_in({cluster_[dim], cluster_[dim] + chain_->temporal[dim]});
}

/// Blocks of a cluster that share K have turns of its tiles; split branches take all of it.
SumParts TileSums::parts_of_c() const {
  const int64_t blocks = g_.tiles->way == GatedWay::split ? 1 : chain_->shape.k;
  SumParts parts(static_cast<size_t>(blocks));
  for (const int64_t step : steps(Dim::k)) {
    for (int64_t block = 0; block < blocks; ++block) {
      parts[static_cast<size_t>(block)].push_back(step * blocks + block);
    }
  }
  return parts;
}

/// A group of blocks passes its slices of C round, so that each begins with its own.
SumParts TileSums::parts_of_e(int64_t column) const {
  const ClusterShape& shape = chain_->shape;
  const int64_t first = column % shape.l / shape.k;
  SumParts parts(static_cast<size_t>(shape.reduce()));
  for (size_t group = 0; group < parts.size(); ++group) {
    for (const int64_t step : steps(Dim::n)) {
      for (int64_t round = 0; round < shape.shuffle(); ++round) {
        const int64_t slice = (first + round) % shape.shuffle();
        parts[group].push_back(step * shape.n + static_cast<int64_t>(group) * shape.shuffle() +
                               slice);
      }
    }
  }
  return parts;
}

}  // namespace fuseflow
