// What graphs of tiles take, by themselves and one after the other. Each is simulated once: a
// planner asks for equal kernels again and again, of equal layers and of equal parts of a program
// that it plans in several ways.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

struct LaunchStart {
  int64_t most_cycles = 0;  ///< a launch that takes longer is not finished; 0: any
  /// Loads whose tensors an L2 holds from the start, the one touched the longest ago first.
  std::vector<NodeId> held = {};
};

/// What time_tiles (sim/tiles/timing.h) gives; each graph is timed once.
Measured timed(const Graph& graph, const Machine& machine, const LaunchStart& from = {});

/// Kernels one after the other.
struct SeparateKernels {
  Measured total;  ///< with the reconfiguration between them
  int64_t kernels = 0;

  void add(const Measured& kernel, const Machine& machine) {
    if (kernels++ > 0) total.cycles += machine.reconfiguration_cycles;
    total += kernel;
  }
};

/// Graphs of tiles one after the other on one machine, as a program runs them: an L2 holds what the
/// graphs before loaded or stored, as far as it fits.
class KernelSequence {
 public:
  explicit KernelSequence(const Machine& machine) : machine_(machine) {}
  void run(const Graph& graph);
  const SeparateKernels& apart() const { return apart_; }

 private:
  const Machine& machine_;
  SeparateKernels apart_;
  std::map<TensorId, int64_t> touched_;  ///< by the number of the graph that did it last
};

}  // namespace fuseflow::cluster
