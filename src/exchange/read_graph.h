// From graphs of Comal's, with their data, to a program of ours: one region a graph.
#pragma once

#include <string>
#include <vector>

#include "exchange/comal.pb.h"
#include "ir/program.h"

namespace fuseflow {

struct NamedGraph {
  std::string path;  ///< for messages
  comal::ComalGraph graph;
};

/// Tensors that no graph before writes are read from the folder `data` (empty: there is none).
/// Throws Error(rejected) naming the operation and the reason, also for what our own rules of
/// typing refuse.
Program read_graphs(const std::vector<NamedGraph>& graphs, const std::string& data);

}  // namespace fuseflow
