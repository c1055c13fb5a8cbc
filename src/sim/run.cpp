#include "sim/run.h"

#include <cmath>

#include "resources/shallower_buffers.h"
#include "sim/advice.h"
#include "sim/fast_executor.h"
#include "sim/naive/interpret.h"
#include "sim/tiles/run.h"

namespace fuseflow {

RunResult run_graph(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options) {
  if (graph.tiles) return run_tiles(program, graph, data, machine, options);
  if (const auto fitted = with_shallower_buffers(program, graph, machine)) {
    return run_graph(program, *fitted, data, machine, options);
  }
  RunResult result = options.executor == Executor::fast
                         ? run_fast(program, graph, data, machine, options)
                         : interpret_graph(program, graph, data, machine, options);
  if (result.finish == Finish::deadlock && options.explain_deadlock) {
    result.deadlock.advice = find_fifo_depth(program, graph, data, machine, options);
  }
  const auto moved = static_cast<double>(result.scratchpad_read_bytes) +
                     static_cast<double>(result.scratchpad_write_bytes);
  const auto tiles = static_cast<double>(machine.scratchpad.tiles);
  result.link_bytes = std::llround(moved * (tiles - 1) / tiles);
  return result;
}

}  // namespace fuseflow
