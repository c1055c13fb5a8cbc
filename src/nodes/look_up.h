// When a look-up (locate) may be outside of its level: for typing, counts and costs alike.
#pragma once

#include "graph/graph.h"
#include "nodes/spaces.h"

namespace fuseflow {

/// Whether the one coordinate of a locate, from a loop of `loop` iterations, is inside of a level
/// of `level` coordinates whatever it is.
inline bool is_always_inside(const Node& locate, int64_t loop, int64_t level) {
  return locate.offset == 0 && locate.stride == 1 && locate.inputs.size() == 2 && loop <= level;
}

/// Whether the coordinate of a locate, in a graph that is typed, is always inside of its level.
inline bool is_always_inside(const Graph& graph, const Spaces& spaces, const Node& locate,
                             int64_t level) {
  if (locate.inputs.size() < 2) return false;
  const int loop = loop_of_coordinates(graph, spaces, locate.inputs[1].stream);
  return is_always_inside(locate, graph.indices[static_cast<size_t>(loop)].extent, level);
}

}  // namespace fuseflow
