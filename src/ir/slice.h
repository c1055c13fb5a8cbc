// One region of a program as a program of its own, with the tensors that it touches and nothing
// else: what is done for each region by itself then takes time in proportion to the region, however
// many others there are.
#pragma once

#include <functional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// The last region whose statements read each tensor; -1: none.
std::vector<int> last_readers(const Program& program);

/// The same for one tensor: whether a region after `region` reads it. Readers mostly come soon.
bool is_read_later(const Program& program, size_t region, TensorId tensor);

struct RegionSlice {
  /// Its regions are those asked for. Tensors keep their order; intermediates that other
  /// regions read have the role `result`; values(..) of sources are left out.
  Program program;
  std::vector<TensorId> tensors;  ///< of the whole program, by tensor of the slice; ascending

  TensorId whole(TensorId tensor) const { return tensor < 0 ? -1 : tensors[tensor]; }
  /// Whether tensors were added to the program since it was made.
  bool has_more() const { return program.tensors.size() > tensors.size(); }
};

/// `read_later` says whether another region reads an intermediate; may be null where only the
/// graph matters.
RegionSlice slice_region(const Program& program, size_t region,
                         const std::function<bool(TensorId)>& read_later);

/// Several regions, which keep their order. `read_later` says whether a region outside of the slice
/// reads an intermediate; with `whole_sources`, values(..) of sources are kept. Tensors that are
/// copies of each other (ir/copies.h) are there together.
RegionSlice slice_regions(const Program& program, const std::vector<size_t>& regions,
                          const std::function<bool(TensorId)>& read_later, bool whole_sources);

/// The slice of a region that may be none of the program's.
RegionSlice slice_region(const Program& program, const Region& region,
                         const std::function<bool(TensorId)>& read_later);

/// Makes a schedule of a slice, which names no tensors but those it began with, one of the whole
/// program.
void to_whole(const RegionSlice& slice, Schedule& schedule);

/// Makes a graph of a slice one of the whole program.
void to_whole(const RegionSlice& slice, Graph& graph);

}  // namespace fuseflow
