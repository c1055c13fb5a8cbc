// Standard error as a person sees it: whether it can be coloured and redrawn, and whether more than
// errors is wanted. Asked by whatever writes there, so that all tools behave alike.
#pragma once

#include <cstddef>

namespace fuseflow {

/// Whether standard error is a terminal that can redraw a line: not where TERM is unset or `dumb`.
bool stderr_is_terminal();

/// Whether what is said there may have colours: such a terminal, and NO_COLOR is unset or empty.
bool stderr_has_colours();

/// Columns of that terminal; 80 where it does not tell.
size_t stderr_columns();

/// From now on no notes, warnings, summaries or progress (-q). Errors stay.
void be_quiet();
bool is_quiet();

}  // namespace fuseflow
