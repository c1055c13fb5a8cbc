// Whether a kernel of tiles can be built as it is planned: what its product or its attention needs
// of a core of the chip (chip/fit.h), where the machine is one.
#pragma once

#include "graph/graph.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Is there room on a core for the sums and copies of a kernel? Always where no kernels are
/// generated for the machine, or none of this form.
bool fits_chip(const Graph& graph, const Machine& machine);

}  // namespace fuseflow::cluster
