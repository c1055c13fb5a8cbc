// From nodes back to the model's words: which statement a node was lowered from, and which layer
// that belongs to.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

struct Origin {
  std::string statement;  ///< name of its result; empty: not known
  std::string layer;  ///< module path of the model up to its first numbered part; empty: not known
};

/// By region, by node of the region's graph. A region without graph is lowered as the simulator
/// does it; of a graph that was given nothing is known but where the region has one statement.
std::vector<std::vector<Origin>> node_origins(const Program& program);

/// `/layer1/attn/MatMul_output_0` is of layer `layer1`; a name without a module path of none.
std::string layer_of_name(const std::string& name);

}  // namespace fuseflow
