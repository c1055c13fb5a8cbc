// Parses the `graph { ... }` block of a region at the cursor. Internal.
#pragma once

#include "ir/cursor.h"
#include "ir/program.h"
#include "ir/statement_parser.h"

namespace fuseflow::ir {

/// At the word `graph`. Errors are recorded; recovers at the lines inside the block.
Graph parse_graph(Cursor& cursor, const Program& program, const TensorNames& names);

}  // namespace fuseflow::ir
