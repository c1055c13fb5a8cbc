#include "sim/tiles/multicast.h"

#include <algorithm>
#include <tuple>

namespace fuseflow {
namespace {

/// A load, ordered so that those of one tile that come together are neighbours.
struct Load {
  int32_t node = 0, row = 0, col = 0;
  int32_t core = 0;
  int32_t turn = 0;  ///< as TileOp::turn, or how often its core had loaded the tile before
  int32_t op = 0;
  auto tile() const { return std::tie(node, row, col); }
  auto together() const { return std::tie(node, row, col, turn); }
};

std::vector<Load> loads_of(const TileOps& ops, Sharers sharers) {
  std::vector<Load> loads;
  for (size_t i = 0; i < ops.nodes.size(); ++i) {
    const TileOp& op = ops.nodes[i];
    if (op.kind != TileOpKind::load || op.pieces > 0) continue;
    if (op.alone && sharers == Sharers::of_multicast) continue;
    loads.push_back({op.node, op.row, op.col, op.core, op.turn, static_cast<int32_t>(i)});
  }
  return loads;
}

void number_turns(std::vector<Load>& loads) {
  std::sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return std::tuple(a.tile(), a.core, a.op) < std::tuple(b.tile(), b.core, b.op);
  });
  for (size_t i = 0; i < loads.size(); ++i) {
    if (loads[i].turn >= 0) continue;
    const bool again =
        i > 0 && loads[i - 1].tile() == loads[i].tile() && loads[i - 1].core == loads[i].core;
    loads[i].turn = again ? loads[i - 1].turn + 1 : 0;
  }
}

}  // namespace

SharedLoads shared_loads(const TileOps& ops, Sharers sharers) {
  SharedLoads shared;
  if (sharers == Sharers::nobody || ops.cores == 1) return shared;
  shared.group.assign(ops.nodes.size(), -1);
  std::vector<Load> loads = loads_of(ops, sharers);
  number_turns(loads);
  std::sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return std::tuple(a.together(), a.op) < std::tuple(b.together(), b.op);
  });
  for (size_t first = 0, end = 0; first < loads.size(); first = end) {
    while (end < loads.size() && loads[end].together() == loads[first].together()) ++end;
    if (end - first == 1) continue;
    std::vector<int32_t> members;
    for (size_t i = first; i < end; ++i) {
      members.push_back(loads[i].op);
      shared.group[static_cast<size_t>(loads[i].op)] = static_cast<int32_t>(shared.members.size());
    }
    shared.members.push_back(std::move(members));
  }
  return shared;
}

}  // namespace fuseflow
