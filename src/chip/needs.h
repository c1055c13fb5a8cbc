// What kernels of tiles need of a core of the chip (fit.h): the one account of it, by which
// planners leave out what does not fit and by which kernels are laid out (cuda/fit.h).
#pragma once

#include <cstdint>
#include <optional>

#include "chip/fit.h"
#include "graph/graph.h"
#include "graph/tiles.h"

namespace fuseflow::chip {

/// A chain's kernel in numbers: a planner has these long before it has a graph. Bytes are those of
/// an element.
struct ChainNumbers {
  Extents tile;
  ClusterShape shape;
  bool gated = false;
  bool one_after_other = false;  ///< both branches of a gate on every core
  int64_t a_bytes = 2, b_bytes = 2, c_bytes = 2, d_bytes = 2;
  int64_t a_copies = 1, b_copies = 1, d_copies = 1;
  int64_t c_tiles = 1;       ///< of C that a core holds
  bool slices_stay = false;  ///< of C, over steps of L
  bool sums_over_n = false;  ///< E is summed over steps of N, while C is made
  int64_t adders = 1;        ///< clusters that add to the same E in memory
};

/// Rings: A, B of each branch, D. Then: C, exchanges of C, of E, what goes round, what is added.
Needs chain_needs(const ChainNumbers& chain);

/// Rows or columns of a matrix that has a tile's elements along a dimension: with those that fill
/// the product that takes it.
int64_t padded_block(const Graph& graph, int dim);

/// What the kernel of a graph of tiles needs; nothing where no kernels of its form are generated.
/// Rings, and room beside them, are in the order of the kernel's objects (cuda/kernel.h).
std::optional<Needs> needs_of(const Graph& graph);

/// Is there room on a core for the kernel of a graph? Always where no kernels are generated for the
/// machine, or none of this form.
bool fits_chip(const Graph& graph, const Machine& machine);

}  // namespace fuseflow::chip
