// How the tiles of a product's operand come into a core's scratchpad: by the copy engine, where the
// tensor is one or more matrices as it lies in memory; else threads gather them, each core for
// itself. The one account of it: planners charge what the kernel (cuda/operand.h) then does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fuseflow::chip {

/// A tensor as the copy engine sees it; shared/tensors.h of the kernels' headers.
struct TensorView {
  int64_t outer = 1, inner = 1, batches = 1;
  int64_t pitch = 1, batch_pitch = 1;  ///< elements
};

/// Which factor of a product an operand is: the left one's columns are summed, or the right one's
/// rows.
enum class Side : uint8_t { left, right };

/// An operand, in row-major order: where each element of its tiles is.
struct Operand {
  std::vector<int64_t> shape;
  int64_t element_bytes = 2;
  Side side = Side::left;
  std::vector<TileSubscript> subscripts;  ///< one a dimension of `shape`, over digits
  std::vector<int64_t> digits;            ///< how many coordinates each has
  std::vector<int> rows, columns, batch;  ///< the digits of these, the slowest first
};

/// The graph's dimensions of a tile. `batch`: -1, or the one of which a tile has one element.
struct TileDims {
  int row = -1, column = -1, batch = -1;
};
/// Of a load of any graph of tiles.
Operand operand_of(const Graph& graph, const Node& load, std::vector<int64_t> shape,
                   const TileDims& dims, Side side);

/// Of elements of one byte what is summed is consecutive in the scratchpad, as the instructions for
/// their products ask: tiles that lie otherwise in memory are gathered.
struct Copies {
  std::optional<TensorView> view;  ///< none: threads gather
  bool by_rows = true;             ///< of a row the elements are consecutive, not of a column
  bool outside = false;            ///< elements outside of the tensor are read
  std::string why_gathered;
};
Copies copies_of(const Operand& operand);

/// Does each core gather the operand's tiles? `product_bytes`: of an element of its product. Not
/// where no kernel is generated: for elements of eight bytes, and those of one or four bytes in a
/// product of others.
bool by_threads(const Operand& operand, int64_t product_bytes);

/// Says so of the loads of a graph whose tiles products take.
void mark_by_threads(Graph& graph, const std::function<std::vector<int64_t>(TensorId)>& shape_of);

}  // namespace fuseflow::chip
