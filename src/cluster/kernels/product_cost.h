// What tiles of a product cost, roughly: for ranking candidates, of which few are simulated. Costs
// leave out much of what takes time (barriers, loads that wait for each other, what follows the
// product in its kernel), so that what costs more cycles than another takes is not faster. Rules:
// ir-spec/cluster.md, "Clusters of kernels".
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/common/load_cycles.h"
#include "cluster/kernels/form.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Who shares a product: cores of a cluster, in one way, and clusters k.
struct ProductSharing {
  int cores = 1;  ///< have tiles of rows that follow each other, and share those of the columns
  int column_cores = 1;  ///< have a part of the columns each: block[n]
  DepthParts parts = {};
};

struct ProductTiles {
  KernelSizes block{1, 1, 1, 1};
  int64_t gathered = 0;  ///< rows that a step packs; 0: it takes a tile of k
  ProductSharing by = {};
};

/// Steps of each tile of rows over all of k, blocks of k or, where rows are gathered, rows; of the
/// elements of the batch that differ. One number: all have as many.
using StepsOfRows = std::vector<int64_t>;

class ProductCost {
 public:
  ProductCost(const KernelForm& form, const Machine& machine);

  /// Cycles of the slowest core.
  double cycles(const ProductTiles& tiles, const StepsOfRows& steps) const;

  /// Steps of all cores.
  double steps(const ProductTiles& tiles, const StepsOfRows& steps) const;

  /// Tiles of the result, once for each cluster that adds to them.
  int64_t work(const ProductTiles& tiles) const;

 private:
  /// Cycles of one step, of the store of a tile, and until a core has what its first step takes.
  struct Costs {
    double step = 0, stored = 0, first = 0;
  };

  Costs costs_of(const ProductTiles& tiles, int64_t most_steps, int64_t takers) const;
  StepBytes step_bytes(const ProductTiles& tiles) const;
  double copies_of(const StepBytes& loaded) const;
  double after_product(const ProductTiles& tiles) const;
  double matrix_cycles(int64_t m, int64_t n, int64_t k) const;
  int64_t columns_of_tiles(const ProductTiles& tiles) const;

  const Machine& machine_;
  const KernelSizes size_;
  // Bytes of an element of the operands and of the result; products run at `work_bytes_`.
  int64_t row_bytes_ = 4, column_bytes_ = 4, result_bytes_ = 4, work_bytes_ = 4;
  int64_t second_columns_ = 0;  ///< of a second product, which are stored; 0: there is none
};

}  // namespace fuseflow::cluster
