// How the fast executor cuts and deals its work. Pure data.
#pragma once

#include <cstdint>

namespace fuseflow {

/// What changes how the engine works, never what it gives.
struct EngineTuning {
  uint32_t chunk = 16384;  ///< tokens that a node gives at a time, about
  uint32_t few = 256;      ///< tokens of the smallest batch that is worth its fixed cost
  /// Tokens of a fiber, on average, from which on payloads are run lengths; 0: always.
  uint32_t run_length_from = 32;
  int64_t alone = 256;   ///< batches before more threads than one start
  bool scatter = false;  ///< for tests: deal nodes to threads in turn, anew all the time
  int64_t scatter_microseconds = 100;  ///< so often; 0: after every batch of the calling thread
};

}  // namespace fuseflow
