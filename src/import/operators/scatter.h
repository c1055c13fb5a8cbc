// What scatters share: what an update does, and updates of whole rows at known places.
#pragma once

#include <cstdint>
#include <vector>

#include "import/importer.h"

namespace fuseflow {

/// What an update does with what is there.
enum class Update { replace, add, multiply, largest, least };

/// The attribute `reduction` of the node; rejects one that is unknown.
Update update_of(const NodeImport& node);

/// The updates of one element as one, and how it joins what is there. Of the last of several, the
/// others left out, the sum.
struct UpdateRule {
  Reduction reduction = Reduction::sum;
  Op op = Op::add;
  float none = 0;  ///< of no update
};
UpdateRule joining_of(Update update);

/// A scatter along one dimension after normalisation: target[e] of the flattened leading indices.
struct Scatter {
  std::vector<int64_t> targets;  ///< where update e goes
  int64_t extent = 0;            ///< of the dimension that is written
  Update update = Update::replace;
};

/// Output 0 of the node: `data` (input 0, perhaps reshaped), whose rows along `axis` are written by
/// rows of the updates.
void scatter_rows(NodeImport& node, const View& data, int axis, const Scatter& scatter,
                  const View& updates);

}  // namespace fuseflow
