// What the nodes of ours are written to a ComalGraph as.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fuseflow {

/// What a kind becomes in a ComalGraph.
struct ExchangeForm {
  bool extension = false;       ///< where no operation says what a node does
  bool stays_in_space = false;  ///< gives streams of the space of its first (`repeat`: last) input
  std::string_view refused = {};  ///< why it has no form; empty: it has one
};

/// Lists every kind, so that a new one does not compile before it is decided.
constexpr ExchangeForm exchange_form(NodeKind kind) {
  constexpr ExchangeForm kOperation{};
  constexpr ExchangeForm kExtension{.extension = true};
  constexpr ExchangeForm kInSpace{.extension = true, .stays_in_space = true};
  switch (kind) {
    case NodeKind::root:
    case NodeKind::array:
    case NodeKind::write_level:
    case NodeKind::write_values:
      return kOperation;
    case NodeKind::scan:
    case NodeKind::intersect:
    case NodeKind::intersect_words:
    case NodeKind::unite:
    case NodeKind::reduce:
    case NodeKind::accumulate:
    case NodeKind::align:
    case NodeKind::drop:
    case NodeKind::filter:
      return kExtension;
    case NodeKind::locate:
    case NodeKind::repeat:  // coordinates; Comal repeats references and values
    case NodeKind::leftjoin:
    case NodeKind::map:
    case NodeKind::coordinate:
    case NodeKind::buffer:
      return kInSpace;
    case NodeKind::gallop:
      return {.refused = "a node that reads two levels has no form; `join j = merge` scans them"};
    case NodeKind::parallelize:
    case NodeKind::serialize:
      return {.refused = "copies of a part of the graph have no form"};
    case NodeKind::pad:
      return {.refused = "blocks have no form"};
    case NodeKind::convert:
      return {.refused = "a conversion has no form"};
    case NodeKind::tile_load:
    case NodeKind::tile_multiply:
    case NodeKind::exchange:
    case NodeKind::gather:
    case NodeKind::tile_hold:
    case NodeKind::shuffle:
    case NodeKind::reduce_scatter:
    case NodeKind::all_reduce:
    case NodeKind::tile_store:
    case NodeKind::tile_coordinate:
      return {.refused = "tiles have no form"};
    case NodeKind::count_:
      break;
  }
  return {};
}

}  // namespace fuseflow
