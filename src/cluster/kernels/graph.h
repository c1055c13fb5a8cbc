// Puts terms into the graph of a kernel of tiles: dimensions, loads, maps, the store. What reduces
// is up to the form.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/common/terms.h"
#include "cluster/common/tile_graph.h"

namespace fuseflow::cluster {

class KernelGraphBuilder : public TileGraphBuilder {
 public:
  /// Tiles of `block` elements (1 along g), `copies` of each load. Digits of l are one tile.
  KernelGraphBuilder(const KernelTerms& terms, const KernelSizes& block, int64_t copies);

  const KernelTerm& term(int32_t t) const { return terms_.terms[static_cast<size_t>(t)]; }
  /// What a term gives; `dims` are those that its tiles must have, where it is not made yet.
  Input give(int32_t term, const TileDims& dims);
  /// Sets what a term gives to what a node made elsewhere gives, over `dims`.
  void set_made(int32_t term, Input given, TileDims dims);
  /// The dimensions along which a term differs.
  TileDims natural(int32_t term) const;

  Input load_term(const KernelTerm& from, const TileDims& dims, int64_t copies) {
    return load(from.tensor, from.subscripts, dims, copies);
  }
  Input load_term(const KernelTerm& from, const TileDims& dims) {
    return load_term(from, dims, copies_);
  }
  Input coordinate(const KernelTerm& from, const TileDims& dims);
  /// Tiles of rows that a cluster's cores have at a time, one each.
  void set_cluster(int cores) { graph_.indices[kKernelM].tiling.cluster = cores; }
  /// Gives each core of a cluster one of the tiles of columns; false where there is only one.
  bool spread_columns();
  /// Gives each of so many cores of a cluster a part of k.
  void spread_depth(int cores) { graph_.indices[kKernelK].tiling.cluster = cores; }
  /// Lets so many clusters add to what was stored last.
  void add_in_memory(int64_t clusters) { graph_.nodes.back().capacity = clusters; }
  /// What the cores of a cluster give, summed: a share for each of them.
  Input sum_over_cluster(Input part, const TileDims& dims, std::string name);
  /// What the cores of a cluster give, reduced: the whole for each of them.
  Input reduce_over_cluster(Reduction reduction, Input part, const TileDims& dims,
                            std::string name);

  Graph take();

 private:
  void collect(int32_t t, std::set<int>& dims) const;

  const KernelTerms& terms_;
  const int64_t copies_;
  std::vector<std::optional<Input>> made_;
  std::vector<TileDims> made_dims_;
};

}  // namespace fuseflow::cluster
