// How Graphviz pictures look: labels that are escaped and shortened, colours of nodes by what they
// work on, and the legend that says so.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "ir/program.h"

namespace fuseflow {

/// The text as the content of a DOT string in double quotes; long texts have their middle cut out.
std::string dot_label(const std::string& text);
/// The whole text as the content of a DOT string; control characters become blanks, bytes that are
/// not UTF-8 `?`, and `&` its entity.
std::string dot_escaped(const std::string& text);

struct DotStyle {
  std::string_view colour;
  std::string_view meaning;
};

DotStyle style_of(NodeKind kind);
DotStyle style_of(Role role);  ///< of a tensor
std::string_view line_style(StreamKind kind);

/// A node that says what the colours of these node kinds and tensors mean, and the lines.
std::string dot_legend(const std::set<NodeKind>& kinds, const std::set<Role>& roles);

}  // namespace fuseflow
