#include "sim/tiles/forwarded_loads.h"

#include <map>
#include <utility>
#include <vector>

#include "graph/tiles.h"
#include "sim/tiles/multicast.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// The pieces of an operation of another list; where they begin.
int32_t add_pieces(TileOps& to, const TileOps& from, const TileOp& op) {
  const auto first = static_cast<int32_t>(to.pieces.size());
  const auto begin = from.pieces.begin() + op.first_piece;
  to.pieces.insert(to.pieces.end(), begin, begin + op.pieces);
  return first;
}

/// The edges of an operation from `first` on, as `renumbered` has them.
std::vector<int32_t> edges_of(const TileOps& ops, int32_t first, int32_t count,
                              const std::vector<int32_t>& renumbered) {
  std::vector<int32_t> edges;
  for (int32_t e = first; e < first + count; ++e) {
    const int32_t to = renumbered[ops.edges[e]];
    if (to < 0) throw Defect("an operation waits for one that comes after it");
    edges.push_back(to);
  }
  return edges;
}

/// Loads that several cores of a cluster make together, on a machine without multicast: the first
/// stays, a send follows it, and the other cores take what it sends.
class ForwardedLoads {
 public:
  ForwardedLoads(const Graph& graph, const TileOps& ops)
      : graph_(graph),
        ops_(ops),
        shared_(shared_loads(ops, Sharers::all)),
        renumbered_(ops.nodes.size(), -1),
        sent_by_(ops.nodes.size(), -1) {
    list_.cores = ops.cores;
    number_copies();
  }

  TileOps build() {
    for (size_t i = 0; i < ops_.nodes.size(); ++i) add(i);
    return std::move(list_);
  }

 private:
  const TileOp& op(size_t i) const { return ops_.nodes[i]; }

  /// Which load had the copy of a buffer before the one that overwrites it.
  void number_copies() {
    overwritten_.assign(ops_.nodes.size(), -1);
    std::map<std::pair<uint8_t, int32_t>, std::vector<int32_t>> loads;  // by core and node
    for (size_t i = 0; i < ops_.nodes.size(); ++i) {
      if (op(i).kind != TileOpKind::load) continue;
      std::vector<int32_t>& before = loads[{op(i).core, op(i).node}];
      const auto copies =
          static_cast<size_t>(graph_.nodes[static_cast<size_t>(op(i).node)].capacity);
      if (before.size() >= copies) overwritten_[i] = before[before.size() - copies];
      before.push_back(static_cast<int32_t>(i));
    }
  }

  /// What has to end before the tile of a load may be overwritten: what the graph says, and the
  /// send that reads it.
  std::vector<int32_t> room_of(size_t load) const {
    std::vector<int32_t> room = edges_of(ops_, op(load).first_order, op(load).orders, renumbered_);
    const int32_t old = overwritten_[load];
    if (old >= 0 && sent_by_[old] >= 0) room.push_back(sent_by_[old]);
    return room;
  }

  void add(size_t i) {
    if (op(i).kind != TileOpKind::load) {
      TileOp same = op(i);
      renumbered_[i] =
          list_.add(same, edges_of(ops_, same.first_operand, same.operands, renumbered_),
                    edges_of(ops_, same.first_order, same.orders, renumbered_));
      return;
    }
    const int32_t group = shared_.group[i];
    const bool first = group < 0 || members(group).front() == static_cast<int32_t>(i);
    TileOp load = op(i);
    if (load.pieces > 0) load.first_piece = add_pieces(list_, ops_, load);
    if (first) {
      renumbered_[i] = list_.add(load, {}, room_of(i));
      if (group >= 0) send(i, members(group));
      return;
    }
    load.bytes = {};
    const auto from = static_cast<size_t>(members(group).front());
    renumbered_[i] = list_.add(load, {sent_by_[from]}, {});
  }

  const std::vector<int32_t>& members(int32_t group) const { return shared_.members[group]; }

  /// Adds the send of what a load brought; it begins when all other cores have room.
  void send(size_t from, const std::vector<int32_t>& to) {
    TileOp send;
    send.kind = TileOpKind::send;
    send.core = op(from).core;
    send.node = op(from).node;
    send.turn = op(from).turn;
    const int64_t element = moved_bytes(graph_, graph_.nodes[send.node]);
    send.rows = static_cast<int32_t>(op(from).bytes.global_read / element);
    send.cols = 1;
    const auto others = static_cast<int64_t>(to.size()) - 1;
    send.bytes.send(others * op(from).bytes.global_read);
    std::vector<int32_t> room;
    for (size_t m = 1; m < to.size(); ++m) {
      const std::vector<int32_t> of_it = room_of(static_cast<size_t>(to[m]));
      room.insert(room.end(), of_it.begin(), of_it.end());
    }
    sent_by_[from] = list_.add(send, {renumbered_[from]}, room);
  }

  const Graph& graph_;
  const TileOps& ops_;
  const SharedLoads shared_;
  TileOps list_;
  std::vector<int32_t> renumbered_;
  std::vector<int32_t> sent_by_;      ///< by load: the send that passes it on; -1: none
  std::vector<int32_t> overwritten_;  ///< by load: the one whose copy it takes; -1: none
};

}  // namespace

TileOps forward_loads(const Graph& graph, const TileOps& ops) {
  return ForwardedLoads(graph, ops).build();
}

}  // namespace fuseflow
