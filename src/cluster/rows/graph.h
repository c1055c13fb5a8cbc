// The graph of a kernel of rows for given tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/rows/form.h"

namespace fuseflow::cluster {

struct RowsTiles {
  int64_t rows = 16;    ///< of a tile
  int64_t column = 16;  ///< of every width's tiles at most; widths are cut evenly
  int tall = 1;         ///< cores of a cluster along rows
  int wide = 1;         ///< ... that share the columns of their rows
  int64_t copies = 2;   ///< of a load that is not kept
  bool keep = false;    ///< weights and vectors stay in the scratchpad for all tiles of rows
  int64_t accumulators = 2;
  int64_t unit = 1;  ///< several tiles of a width have multiples of it
};

Graph rows_graph(const RowsForm& form, const RowsTiles& tiles);

/// Elements of a tile along a width of so many.
int64_t rows_column(int64_t width, const RowsTiles& tiles);

}  // namespace fuseflow::cluster
