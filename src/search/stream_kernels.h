// Which kernels may be streams. On a machine without units for streams they would run free of
// charge, so only what cores cannot take is left to them. ir-spec/explore.md, "Tiles".
#pragma once

#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "search/interval.h"

namespace fuseflow {

/// By position of the kernel.
using StreamKernels = std::vector<bool>;

/// Whether the region has a graph of tiles.
bool has_tiles(const Region& region);

/// On a machine with units for streams all. Else, of the ways to divide the program into runs that
/// are planned for cores and kernels that are not, the kernels of one with the fewest.
StreamKernels left_to_streams(const Program& kernels, const Machine& machine,
                              const std::vector<Interval>& planned);

}  // namespace fuseflow
