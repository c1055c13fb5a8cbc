// The tiles of a kernel: candidates, ranked by cost where there are many, simulated, the fastest.
#pragma once

#include <optional>

#include "cluster/kernel_form.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// The fastest graph of the candidates; nothing where none fits the machine.
std::optional<Graph> fastest_kernel(const KernelForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
