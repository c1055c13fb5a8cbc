// Which nodes of ours are written to a ComalGraph as extensions. Copies, blocks and tiles are not.
#pragma once

#include "graph/graph.h"

namespace fuseflow {

/// Gives streams of the space of its first input (`repeat`: of its last).
inline bool stays_in_space(NodeKind kind) {
  switch (kind) {
    case NodeKind::locate:
    case NodeKind::repeat:  // coordinates; Comal repeats references and values
    case NodeKind::leftjoin:
    case NodeKind::map:
    case NodeKind::coordinate:
    case NodeKind::buffer:
      return true;
    default:
      return false;
  }
}

inline bool is_extension_kind(NodeKind kind) {
  switch (kind) {
    case NodeKind::scan:
    case NodeKind::intersect:
    case NodeKind::intersect_words:
    case NodeKind::unite:
    case NodeKind::reduce:
    case NodeKind::accumulate:
    case NodeKind::align:
    case NodeKind::drop:
    case NodeKind::filter:
      return true;
    default:
      return stays_in_space(kind);
  }
}

}  // namespace fuseflow
