// Graphviz pictures of programs and of their dataflow graphs: one cluster a region, and clusters
// for the layers of the model where there are several.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// What a node is drawn with instead of the colour of its class: a line below its label, a fill.
struct NodeLook {
  std::string line;
  std::string fill;  ///< #rrggbb
};

struct DotOptions {
  bool statements = false;  ///< draw statements also where there is a graph
  bool labels = false;      ///< name every stream
  bool expand = false;      ///< draw every parallel copy
  bool legend = true;
  bool tensors = true;           ///< draw tensors beside the nodes of graphs, which name them
  std::optional<size_t> region;  ///< draw this one alone
  /// Draws only these nodes of its graph (of parallel copies the first), and what is between them.
  std::optional<std::set<size_t>> nodes = std::nullopt;
  /// Looks of the nodes of a region's graph that are drawn as one; null: by class.
  std::function<NodeLook(size_t region, const std::vector<size_t>& nodes)> look = nullptr;
};

/// Tensors are ellipses; statements and nodes are boxes, nodes with their numbers and coloured by
/// class; coordinates are dashed, references dotted, values solid. Parallel copies are one box
/// unless asked for. Deterministic; names are escaped and shortened.
std::string print_dot(const Program& program, const DotOptions& options = {});

}  // namespace fuseflow
