// Parser of the lines of a region's schedule: `order i, j`, `place %t = scratchpad`, `parallel i =
// 4`, `join j = locate %b`, `barriers`.
#pragma once

#include "ir/statement_parser.h"

namespace fuseflow::ir {

bool begins_schedule_line(const Token& token);

/// A line whose first token begins one.
void parse_schedule_line(Cursor& cursor, const TensorNames& names, Schedule& schedule);

Placement parse_placement(Cursor& cursor);

}  // namespace fuseflow::ir
