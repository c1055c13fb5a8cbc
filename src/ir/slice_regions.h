// Slices of a program (slice.h) for a search: of several regions, of a region that is none of the
// program's, and what is found in one put back into the whole program.
#pragma once

#include <functional>
#include <vector>

#include "ir/slice.h"

namespace fuseflow {

/// Regions, which keep their order. `read_later` says whether a region outside of the slice reads
/// an intermediate; values(..) of sources are kept. Tensors that are copies of each other
/// (ir/copies.h) are there together.
RegionSlice slice_regions(const Program& program, const std::vector<size_t>& regions,
                          const std::function<bool(TensorId)>& read_later);

/// The slice of a region that may be none of the program's. Nothing is known of other readers.
RegionSlice slice_region(const Program& program, const Region& region);

/// Whether tensors were added to the slice's program since it was made.
inline bool has_more_tensors(const RegionSlice& slice) {
  return slice.program.tensors.size() > slice.tensors.size();
}

/// Makes a schedule of a slice, which names no tensors that were added, one of the whole program.
void to_whole(const RegionSlice& slice, Schedule& schedule);

}  // namespace fuseflow
