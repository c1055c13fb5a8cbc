// The fast executor: whole batches of tokens at a time, times as runs. Gives exactly what the naive
// executor (sim/naive/interpret.h) gives. How it works: ir-spec/simulation.md.
#pragma once

#include <optional>

#include "sim/run.h"

namespace fuseflow {

/// What changes how the engine works, never what it gives.
struct EngineTuning {
  uint32_t chunk = 16384;  ///< tokens that a node gives at a time, about
  uint32_t few = 256;      ///< of a batch that is only just worth what it costs besides its tokens
  uint32_t folded =
      32;  ///< tokens of a fiber, on average, from which on payloads are folded; 0: always
  int64_t alone = 256;   ///< batches before more threads than one start
  bool scatter = false;  ///< deal nodes to threads in turn, anew all the time, whatever that costs
};

RunResult run_fast(const Program& program, const Graph& graph, const TensorData& data,
                   const Machine& machine, const RunOptions& options,
                   const EngineTuning& tuning = {});

}  // namespace fuseflow
