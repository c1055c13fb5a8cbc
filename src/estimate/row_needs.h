// What a load needs of a tensor that an earlier phase completes row by row (ir-spec/timing.md,
// "Rows"): its own row, neighbours of a node, keys of a query, a window.
#pragma once

#include <functional>
#include <vector>

#include "estimate/structure.h"
#include "tensor/storage.h"

namespace fuseflow::estimate {

/// Before a load goes on beyond the share `done` of its work, the rows up to the share `rows` of
/// the tensor's must be complete.
struct RowNeed {
  double done = 0;
  double rows = 1;
  bool operator==(const RowNeed&) const = default;
};

/// Needs of what reads, one after the other, the rows that the coordinates of a level name. Each
/// list is by `done`, with `rows` ascending; empty: not known.
struct ListedNeeds {
  std::vector<RowNeed> entries;  ///< of a load of one entry after the other
  std::vector<RowNeed> fibers;   ///< of what goes on a fiber at a time, after a reduction
  double number = 0;             ///< of fibers
  bool operator==(const ListedNeeds&) const = default;
};

struct RowNeeds {
  bool reads = false;  ///< false: nothing is stored, its level is dense
  /// How far in front of its own row a load reads, as a share of the rows. 0: while the outermost
  /// loop is at its r-th element, no row after the r-th is read. 1: any may be.
  double ahead = 1;
  ListedNeeds listed;  ///< if known, it tells more
};

/// The needs of a compressed level whose coordinate c names row `stride` * c + `offset` of so many
/// `rows`. Few: of a longer list those that decide when such a load ends, whatever its pace and
/// that of the rows.
ListedNeeds listed_needs(const Level& level, double rows, int64_t stride, int64_t offset);

/// Gives listed_needs() of level 1 of a tensor.
using ListedOf =
    std::function<ListedNeeds(TensorId tensor, double rows, int64_t stride, int64_t offset)>;

/// By NodeId.
std::vector<RowNeeds> row_needs(const Structure& structure, const ListedOf& listed_of);

}  // namespace fuseflow::estimate
