// Kernels of rows as JSON (ir-spec/plan.schema.json, `rows`).
#pragma once

#include "cluster/rows/rows.h"
#include "support/json.h"

namespace fuseflow::cluster {

Json rows_json(const Program& program, const RowsOutcome& outcome);

}  // namespace fuseflow::cluster
