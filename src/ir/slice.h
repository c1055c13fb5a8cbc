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

/// Whether a region after `region` reads the tensor. Looks at regions one by one, since readers
/// mostly come soon.
bool is_read_later(const Program& program, size_t region, TensorId tensor);

struct RegionSlice {
  /// Its only region is the one asked for. Tensors keep their order; intermediates that other
  /// regions read have the role `result`; values(..) of sources are left out.
  Program program;
  std::vector<TensorId> tensors;  ///< of the whole program, by tensor of the slice; ascending

  TensorId whole(TensorId tensor) const { return tensor < 0 ? -1 : tensors[tensor]; }
};

/// `read_later` says whether another region reads an intermediate; may be null where only the
/// graph matters.
RegionSlice slice_region(const Program& program, size_t region,
                         const std::function<bool(TensorId)>& read_later);

/// Calls `visit` with each tensor that a graph names; -1 where a node names none.
void each_tensor(Graph& graph, const std::function<void(TensorId&)>& visit);

/// Makes a graph of a slice one of the whole program.
void to_whole(const RegionSlice& slice, Graph& graph);

}  // namespace fuseflow
