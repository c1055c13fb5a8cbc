// SAM's graphs: Graphviz, in which a node's `type` says what it does and an edge's what it carries.
// They are read as the ComalGraph that they mean, and written from one.
#pragma once

#include <string>
#include <string_view>

#include "exchange/comal.pb.h"

namespace fuseflow {

/// Throws Error(rejected) with file, line and column for what is no such graph.
comal::ComalGraph parse_sam_dot(std::string_view text, const std::string& path);

std::string sam_dot(const comal::ComalGraph& graph);

}  // namespace fuseflow
