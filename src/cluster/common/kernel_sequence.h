// Graphs of tiles one after the other on one machine, as a program runs them.
#pragma once

#include <cstdint>
#include <map>

#include "graph/graph.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

struct SeparateKernels {
  Measured total;  ///< with the reconfiguration between them
  int64_t kernels = 0;
};

/// An L2 holds what the graphs before loaded or stored, as far as it fits.
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
