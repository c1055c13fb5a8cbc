// Parses the `graph { ... }` block of a region at the cursor. Internal.
#pragma once

#include "ir/cursor.h"
#include "ir/program.h"
#include "ir/statement_parser.h"

namespace fuseflow::ir {

/// At the word `graph`. Errors are recorded; recovers at the lines inside the block. `tensors`:
/// those of the program for the rules of graphs, kept from one graph to the next; made as they are
/// needed.
Graph parse_graph(Cursor& cursor, const Program& program, const TensorNames& names,
                  std::vector<GraphTensor>& tensors);

}  // namespace fuseflow::ir
