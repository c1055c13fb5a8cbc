// What values of edges are where there is no edge, once they stand in a matrix: the value that
// keeps most of what reads them sparse. And which statements become part of the one that reads
// them.
#pragma once

#include <map>
#include <optional>

#include "import/finish/edge_class.h"

namespace fuseflow {

/// By tensor of the class that both ends matter to: its value where there is no edge. `masked`: the
/// statement does not give that by itself.
struct AbsentValue {
  float value = 0;
  bool masked = false;
};
using AbsentValues = std::map<TensorId, AbsentValue>;

/// Plans the values. A statement that would have to be masked and has one reader moves into it, as
/// does a product that only a sum reads: so a message and what collects it are one product.
AbsentValues plan_edges(DraftProgram& draft, EdgeClass& edges);

}  // namespace fuseflow
