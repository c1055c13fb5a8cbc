// The fastest kernel of one product by itself, over tiles, walks, splits of K and clusters of two
// cores that share loads. No links are used.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cluster/common/fastest.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// Y[M,N] = X[M,K] W[K,N] on blocks of one core each. A block computes `steps_m` x `steps_n` tiles
/// one after the other (one of the two is 1) over its part of K; with `split_k` > 1 blocks add to
/// sums in memory in f32, of which the last one makes Y. Where the machine has multicast, the
/// blocks of two cores may be a cluster whose blocks are neighbours along M, which load the same W,
/// or along N, the same X.
struct ProductPlan {
  int64_t m = 16, n = 16, k = 16;  ///< tile
  int64_t steps_m = 1, steps_n = 1, split_k = 1;
  int64_t stages = 2;
  int64_t cores_m = 1, cores_n = 1;  ///< of a cluster
  int cores() const { return static_cast<int>(cores_m * cores_n); }
};

/// Bytes of an element of each tensor of a product by itself.
struct ProductBytes {
  int64_t x = 2, w = 2, y = 2, bias = 2, gate = 2;
  /// At which it runs: that of the larger operand.
  int64_t work() const { return std::max(x, w); }
  /// All the same.
  static ProductBytes of(int64_t bytes) { return {bytes, bytes, bytes, bytes, bytes}; }
};

struct ProductSize {
  int64_t m = 1, n = 1, k = 1;  ///< padded
  bool bias = false;
  bool gate = false;  ///< the stored tile is multiplied with one loaded from global memory
  ProductBytes bytes = {};
  /// The kernel before wrote or read X (and the gate): an L2 holds it as far as it fits.
  bool follows = false;
  /// Elementwise work for an element of Y, beside bias, gate and the product of a pair.
  LaneWork each = {};
  /// Extents along m, n and k without padding: tiles may cut these evenly instead. 0: as padded.
  std::array<int64_t, 3> actual = {};
  /// Columns of W alternate between two branches, of whose sums Y has the product: `n` of the
  /// product, half as many of Y.
  bool pairs = false;
  /// Threads gather the tiles of X, of W, each core for itself (chip/copies.h).
  bool x_by_threads = false, w_by_threads = false;
};

struct MeasuredProduct {
  ProductSize size;  ///< what whole tiles of the plan cover
  ProductPlan plan;
  Measured measured;
  SearchLog log;
};

/// The fastest kernel that the effort finds, over tiles, walks and splits of K. Throws
/// Error(rejected) where none fits the machine.
MeasuredProduct find_product(const ProductSize& size, const Machine& machine, const Effort& effort);
Measured best_product(const ProductSize& size, const Machine& machine, const Effort& effort);

/// The fastest of all of them, each simulated to its end: what the bounds are checked against.
Measured best_product_of_all(const ProductSize& size, const Machine& machine);

/// Not tuned: tiles of 128 x 128 x 64 (less where they do not divide), one a block, K not split.
Measured fixed_product(const ProductSize& size, const Machine& machine);

}  // namespace fuseflow::cluster
