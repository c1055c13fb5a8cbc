// What became of kernels of rows, as notes on standard error.
#pragma once

#include <vector>

#include "cluster/rows/rows.h"

namespace fuseflow::cluster {

void report_rows(const Program& program, const std::vector<RowsOutcome>& outcomes);

}  // namespace fuseflow::cluster
