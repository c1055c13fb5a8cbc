// From a region's graph to a ComalGraph. What Comal has no kind for is an extension that only we
// read; what has no form at all is refused.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exchange/comal.pb.h"
#include "ir/program.h"

namespace fuseflow {

/// Whose rules hold where they differ: a repeat takes references or values as its signal in Comal,
/// a signal made of coordinates in SAM; SAM has operations that drop zeros.
enum class Dialect { comal, sam };

struct WrittenGraph {
  comal::ComalGraph graph;
  std::map<std::string, int> extensions;  ///< kinds of node that only we read, and how many
};

/// Throws Error(rejected) naming the node and why it has no form.
WrittenGraph write_graph(const Program& program, const Region& region, Dialect dialect);

}  // namespace fuseflow
