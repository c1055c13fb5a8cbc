// Kernels of tiles as JSON (ir-spec/plan.schema.json): single products, sparse and gathered ones,
// attention, elementwise work and reductions of rows (`kernels`), and kernels of rows (`rows`).
#pragma once

#include <vector>

#include "cluster/rows/rows.h"
#include "ir/program.h"
#include "machine/machine.h"
#include "support/json.h"

namespace fuseflow::cluster {

/// Every region of the program that is a kernel of tiles, in program order, with its simulated
/// cycles.
std::vector<Json> kernels_json(const Program& program, const Machine& machine);

Json rows_json(const Program& program, const RowsOutcome& outcome);

}  // namespace fuseflow::cluster
