// Graphviz as a program: lays out a graph, gives SVG to put into a page.
#pragma once

#include <string>

namespace fuseflow {

/// The `<svg>` element of `dot -Tsvg` without what stands before it; empty where `dot` is not
/// installed or fails.
std::string svg_by_graphviz(const std::string& dot_text);

}  // namespace fuseflow
