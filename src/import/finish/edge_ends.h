// Gathers and scatters in a draft: sums that read, or write, the element that a constant list of
// places names. In message passing such lists are the ends of the edges.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "import/values/draft.h"

namespace fuseflow {

/// One end of all edges: the node of each edge.
struct EdgeEnds {
  std::vector<int64_t> nodes;  ///< by edge
  int64_t extent = 0;          ///< how many nodes there are
  bool operator==(const EdgeEnds&) const = default;
};

/// A gather is `rows[e, ...] = sum(n) where(bits[e, n], x[n, ...], 0)`, the whole of a statement. A
/// scatter is `R(e) where(bits[n, e], y[e, ...], identity of R)`, perhaps a part of one.
struct GatherOrScatter {
  bool gathers = false;
  int32_t reduction = -1;  ///< the node of the sum, maximum, ...
  int32_t body = -1;       ///< the node of x, y
  IndexId edge = -1;
  IndexId node = -1;
  EdgeEnds ends;
};

/// The gather or scatter of the statement; nothing if it has none or several.
std::optional<GatherOrScatter> ends_use(const DraftProgram& draft, const Statement& statement);

/// Whether a subscript or coordinate in the tree below `node` has the index.
bool uses_index(const Statement& statement, int32_t node, IndexId index);
bool has_index(const Expr& access, IndexId index);

}  // namespace fuseflow
