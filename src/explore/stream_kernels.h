// Which kernels may be streams. On a machine without units for streams they would run free of
// charge, so only what cores cannot take is left to them. ir-spec/explore.md, "Tiles".
#pragma once

#include <vector>

#include "explore/points.h"

namespace fuseflow {

/// By position of the kernel.
using StreamKernels = std::vector<bool>;

/// On a machine with units for streams all. Else, of the ways to divide the program into runs that
/// are planned for cores and kernels that are not, the kernels of one with the fewest.
StreamKernels stream_kernels(const Program& kernels, const Machine& machine,
                             const std::vector<Seed>& seeds);

/// Refuses the points of a run of kernels that run as streams where `may` excludes one of its
/// kernels. Called where points are made.
void refuse_streams(std::vector<Point>& points, const Program& kernels, const Machine& machine,
                    const StreamKernels& may);

}  // namespace fuseflow
