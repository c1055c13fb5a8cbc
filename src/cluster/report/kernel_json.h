// Kernels of tiles as JSON (ir-spec/plan.schema.json, `kernels`): single products, sparse and
// gathered ones, attention, elementwise work, reductions of rows.
#pragma once

#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "support/json.h"

namespace fuseflow::cluster {

/// Of every region of the program that is one, in program order, with its simulated cycles.
std::vector<Json> kernels_json(const Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
