#include "sim/common/run_conversion.h"

#include "sim/common/conversion.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/latest.h"

namespace fuseflow {

RunResult run_conversion(const Program& program, const Graph& graph, const TensorData& data,
                         const Machine& machine, const RunOptions& options) {
  const Node& node = graph.nodes[0];
  const Tensor& from = program.tensors[node.other_tensor];
  const Tensor& to = program.tensors[node.tensor];
  const std::shared_ptr<const Storage>& copy = data.storage[node.tensor];
  if (copy == nullptr) throw Defect("%" + to.name + " was not loaded");
  const StoredArrays from_arrays = stored_arrays(from, data.find(node.other_tensor));
  const StoredArrays to_arrays = stored_arrays(to, copy.get());
  RunResult result = conversion_counts({from, from_arrays}, {to, to_arrays}, machine);
  if (options.cancel != nullptr && options.cancel->load()) {
    result.finish = Finish::cancelled;
  } else if ((options.max_cycles > 0 && result.cycles > options.max_cycles) ||
             result.cycles >= kLatest) {
    result.finish = Finish::max_cycles;
  } else {
    result.results.emplace_back(node.tensor, copy);
  }
  if (options.trace) {
    result.activity.resize(1);
    result.stalls.resize(1);
    result.waits.resize(1);
    const NodeStats& counts = result.nodes[0];
    if (counts.busy > 0) result.activity[0].add(0, counts.busy - 1);
  }
  return result;
}

}  // namespace fuseflow
