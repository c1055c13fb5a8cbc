// The end of every kernel: sums of a tile of the result, over the cores of a cluster that share it,
// to the tensor, or to sums in memory that several clusters add to.
#pragma once

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// What is done with sums `sums` when a tile is finished.
struct FinishPlan {
  int sums = 0;
  int scatter = -1;                ///< number of the scatter among Kernel::scatters; -1: none
  std::string turn;                ///< counts its turns
  std::vector<NodeId> nodes;       ///< elementwise work on the result
  StreamId from = -1;              ///< the stream of the sums
  StreamId result = -1;            ///< .. of what is stored
  std::vector<DimensionAt> dims;   ///< of rows and columns
  std::vector<std::string> first;  ///< variables that are 0 on the adder that does the work
};

/// The steps; adds the work to the kernel. Throws Refused for what is not generated.
std::vector<Step> finish_steps(const Program& program, Kernel& kernel, const FinishPlan& plan);

/// One of Kernel::results for a store.
ElementAt result_element(const Program& program, const Graph& graph, NodeId store,
                         std::vector<DimensionAt> dims);

}  // namespace fuseflow::cuda
