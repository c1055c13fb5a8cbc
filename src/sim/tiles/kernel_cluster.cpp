#include "sim/tiles/kernel_cluster.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "sim/tiles/multicast.h"
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
    if (to < 0) throw Error(ExitCode::internal, "an operation waits for one that comes after it");
    edges.push_back(to);
  }
  return edges;
}

/// The operations of a core in one step.
struct Segment {
  int32_t turn = 0;
  int64_t step = 0;
  size_t core = 0;
  int32_t first = 0, end = 0;
};

/// All cores' steps, one step after the other; the core that begins changes from step to step, so
/// that it is not always the same one that loads for all.
std::vector<Segment> segments_of(const std::vector<KernelCoreOps>& cores) {
  std::vector<Segment> all;
  for (size_t c = 0; c < cores.size(); ++c) {
    const std::vector<StepBegin>& steps = cores[c].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      const auto last = static_cast<int32_t>(cores[c].ops.nodes.size());
      const int32_t end = s + 1 < steps.size() ? steps[s + 1].first_op : last;
      all.push_back({steps[s].turn, steps[s].step, c, steps[s].first_op, end});
    }
  }
  const auto rotated = [&](const Segment& s) {
    const auto by = static_cast<size_t>(s.turn + s.step % static_cast<int64_t>(cores.size()));
    return (s.core + by) % cores.size();
  };
  std::sort(all.begin(), all.end(), [&](const Segment& a, const Segment& b) {
    return std::tuple(a.turn, a.step, rotated(a)) < std::tuple(b.turn, b.step, rotated(b));
  });
  return all;
}

/// The operations of all cores. Of a step the loads of all of them come first, so that the order
/// stays topological when cores send each other what they loaded.
class ClusterOperations {
 public:
  ClusterOperations(const Graph& graph, const std::vector<KernelCoreOps>& cores)
      : cores_(cores), exchanged_(graph.nodes.size()) {
    if (is_tile_kernel(graph)) {
      for (const NodeId n : kernel_roles(graph).exchanges) {
        exchanged_[n] = {Last(cores.size(), -1), Last(cores.size(), -1)};
      }
    }
    list_.cores = static_cast<int>(cores.size());
    for (const KernelCoreOps& core : cores) renumbered_.emplace_back(core.ops.nodes.size(), -1);
  }

  TileOps build() {
    const std::vector<Segment> segments = segments_of(cores_);
    for (size_t first = 0, end = 0; first < segments.size(); first = end) {
      while (end < segments.size() && segments[end].turn == segments[first].turn &&
             segments[end].step == segments[first].step) {
        ++end;
      }
      for (const bool loads : {true, false}) {
        for (size_t s = first; s < end; ++s) add_all(segments[s], loads);
      }
    }
    return std::move(list_);
  }

 private:
  void add_all(const Segment& segment, bool loads) {
    const TileOps& from = cores_[segment.core].ops;
    std::vector<int32_t>& renumbered = renumbered_[segment.core];
    for (int32_t i = segment.first; i < segment.end; ++i) {
      TileOp op = from.nodes[i];
      if ((op.kind == TileOpKind::load) != loads) continue;
      std::vector<int32_t> operands = edges_of(from, op.first_operand, op.operands, renumbered);
      std::vector<int32_t> orders = edges_of(from, op.first_order, op.orders, renumbered);
      const bool sends = op.kind == TileOpKind::send;
      auto& [sent, summed] = exchanged_[static_cast<size_t>(op.node)];
      sends ? add_others(segment.core, summed, orders) : add_others(segment.core, sent, operands);
      if (op.pieces > 0) op.first_piece = add_pieces(list_, from, op);
      op.core = static_cast<uint8_t>(segment.core);
      const int32_t id = list_.add(op, operands, orders);
      renumbered[i] = id;
      Last& last = sends ? sent : summed;
      if (!last.empty()) last[segment.core] = id;
    }
  }

  /// By core the operation that it did last; -1: none yet.
  using Last = std::vector<int32_t>;

  /// What the other cores did last.
  static void add_others(size_t core, const Last& by_core, std::vector<int32_t>& edges) {
    for (size_t other = 0; other < by_core.size(); ++other) {
      if (other != core && by_core[other] >= 0) edges.push_back(by_core[other]);
    }
  }

  const std::vector<KernelCoreOps>& cores_;
  TileOps list_;
  std::vector<std::vector<int32_t>> renumbered_;  ///< by core and its operation
  struct ExchangeOps {
    Last sent, summed;  ///< empty: the node is no exchange
  };
  std::vector<ExchangeOps> exchanged_;  ///< by node
};

/// Loads that several cores of a cluster make together, on a machine without multicast: the first
/// stays, a send follows it, and the other cores take what it sends.
class ForwardedLoads {
 public:
  ForwardedLoads(const Graph& graph, const TileOps& ops)
      : graph_(graph),
        ops_(ops),
        shared_(shared_loads(ops, true)),
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
    send.bytes.link = send.bytes.scratchpad_read = send.bytes.scratchpad_write =
        others * op(from).bytes.global_read;
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

TileOps join_cores(const Graph& graph, std::vector<KernelCoreOps> cores, bool over_links) {
  if (cores.size() == 1) return std::move(cores.front().ops);
  TileOps joined = ClusterOperations(graph, cores).build();
  return over_links ? ForwardedLoads(graph, joined).build() : joined;
}

}  // namespace fuseflow
