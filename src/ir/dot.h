// Graphviz pictures of programs and of their dataflow graphs, one cluster a region.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

struct DotOptions {
  bool statements = false;  ///< draw statements also where there is a graph
  bool labels = false;      ///< name every stream
};

/// Tensors are ellipses; statements and nodes are boxes, nodes coloured by class; coordinates are
/// dashed, references dotted, values solid. Deterministic; names are escaped and shortened.
std::string print_dot(const Program& program, const DotOptions& options = {});

}  // namespace fuseflow
