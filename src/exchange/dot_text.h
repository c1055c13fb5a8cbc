// The part of Graphviz's language that SAM's graphs are written in: nodes, edges, attributes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

using DotAttributes = std::map<std::string, std::string>;

struct DotNode {
  std::string id;
  DotAttributes attributes;
  int line = 0;
};

struct DotEdge {
  std::string from;
  std::string to;
  DotAttributes attributes;
  int line = 0;
};

struct DotGraph {
  DotAttributes attributes;
  std::vector<DotNode> nodes;
  std::vector<DotEdge> edges;  ///< in the order of the text
};

/// Throws Error(rejected) with file, line and column.
DotGraph parse_dot(std::string_view text, const std::string& path);

/// A string of the language, in quotes. Control characters and bytes that are not UTF-8 are written
/// as \xHH, which parse_dot() reads.
std::string dot_quoted(std::string_view text);

}  // namespace fuseflow
