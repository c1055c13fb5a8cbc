#include "sim/tiles/run_counts.h"

#include <algorithm>
#include <functional>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "ops/op.h"
#include "sim/tiles/expand.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows_counts.h"
#include "support/ceil_div.h"

namespace fuseflow {
namespace {

/// What each form of graphs of tiles says of a node that did so many operations.
struct FormCounts {
  std::function<int64_t(NodeId, StreamId, int64_t operations)> tiles;  ///< given to a stream
  std::function<int64_t(const Node&)> room;  ///< tiles that its streams hold
  /// FLOPs that operations of other nodes, or memory, do for it.
  std::function<int64_t(NodeId)> flops_within = [](NodeId) { return 0; };
};

int64_t slots_of(const Node& node) {
  return std::max<int64_t>(node.capacity, 1);
}

/// Counts of a kernel. Every operation of a node gives one tile, but for a reduction that is read
/// after its last step. Cores that share the rows of a tile give one together; those that share k
/// give one each.
FormCounts of_kernel(const Graph& graph) {
  std::vector<bool> read_in_step(graph.streams.size(), false);
  for (const NodeId n : kernel_roles(graph).steps) {
    for (const Input& input : graph.nodes[n].inputs) {
      if (!input.is_immediate()) read_in_step[input.stream] = true;
    }
  }
  const auto node = [&graph](NodeId n) -> const Node& { return graph.nodes[n]; };
  const auto tiles = [=, &graph](NodeId n, StreamId s, int64_t operations) {
    if (shares_of(graph, s) > 1) return operations / shares_of(graph, s);
    if (node(n).kind == NodeKind::tile_hold) return kernel_tile_count(graph);
    const bool ends = is_held_reduction(graph, node(n)) && !read_in_step[s];
    return ends ? kernel_tile_count(graph) * depth_parts(graph) : operations;
  };
  return {tiles, slots_of};
}

FormCounts of_rows(const Graph& graph) {
  const auto node = [&graph](NodeId n) -> const Node& { return graph.nodes[n]; };
  const auto tiles = [=, &graph](NodeId n, StreamId, int64_t operations) {
    return node(n).kind == NodeKind::tile_load ? operations : rows_tiles_computed(graph, node(n));
  };
  return {tiles, slots_of};
}

/// The counts of a chain of two products over a cluster.
class ChainCounts {
 public:
  explicit ChainCounts(const Graph& graph)
      : graph_(graph), roles_(tile_roles(graph)), geometry_(tile_geometry(graph)) {
    const TileGeometry& g = geometry_;
    const int64_t blocks = g.clusters * g.shape.cores();
    c_tiles_ = blocks * g.temporal[Dim::m] * g.temporal[Dim::n];
    e_tiles_ = blocks * g.temporal[Dim::m] * g.temporal[Dim::l];
    uses_ = c_tiles_ * g.temporal[Dim::l];
    c_elements_ = c_tiles_ * (g.tile[Dim::m] * g.tile[Dim::n] / g.shape.k);
    e_elements_ = e_tiles_ * (g.tile[Dim::m] * g.tile[Dim::l] / g.shape.reduce());
  }

  /// FLOPs that a node does as part of other operations: those of maps, in the sums of C and the
  /// store of E; those of the store, where clusters add.
  int64_t flops_within(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const int64_t stored = e_elements_ / geometry_.sharers();
    if (node.kind == NodeKind::tile_store) return e_elements_ - stored;
    if (node.kind != NodeKind::map) return 0;
    return op_info(node.op).flops * (is_last_map(id) ? stored : c_elements_);
  }

  int64_t tiles(NodeId id, int64_t operations) const {
    const Node& node = graph_.nodes[id];
    switch (node.kind) {
      case NodeKind::tile_load:
        return operations;
      case NodeKind::tile_multiply:
        return id == roles_.second ? e_tiles_ : node.tile.branch >= 0 ? c_tiles_ / 2 : c_tiles_;
      case NodeKind::map:
        return is_last_map(id) ? e_tiles_ / geometry_.sharers() : c_tiles_;
      case NodeKind::tile_hold:
        return uses_;
      case NodeKind::shuffle:
        return uses_ * geometry_.shape.shuffle();
      case NodeKind::reduce_scatter:
        return e_tiles_;
      default:
        return c_tiles_;
    }
  }

  int64_t room(const Node& node) const {
    if (node.kind == NodeKind::shuffle)
      return node.capacity > 0 ? node.capacity : slice_slots(geometry_.shape);
    return node.kind == NodeKind::tile_load ? slots_of(node) : 1;
  }

 private:
  bool is_last_map(NodeId id) const {
    return std::find(roles_.last_maps.begin(), roles_.last_maps.end(), id) !=
           roles_.last_maps.end();
  }

  const Graph& graph_;
  const TileRoles roles_;
  const TileGeometry geometry_;
  int64_t c_tiles_ = 0, e_tiles_ = 0, uses_ = 0, c_elements_ = 0, e_elements_ = 0;
};

FormCounts of_chain(const Graph& graph) {
  const ChainCounts counts(graph);
  return {[counts](NodeId n, StreamId, int64_t operations) { return counts.tiles(n, operations); },
          [counts](const Node& node) { return counts.room(node); },
          [counts](NodeId n) { return counts.flops_within(n); }};
}

FormCounts counts_of(const Graph& graph) {
  const TileForm form = tile_form(graph);
  if (form == TileForm::kernel) return of_kernel(graph);
  return form == TileForm::rows ? of_rows(graph) : of_chain(graph);
}

/// What the operations of a node did, as its counts but for FLOPs and tokens.
void count_times(const TileNodeTime& time, int64_t cycles, NodeStats& stats) {
  int64_t busy = 0;
  for (const auto& [first, end] : time.busy) busy += end - first;
  stats.busy = std::min(cycles, ceil_div(busy, kTicks));
  stats.starved = cycles - stats.busy;
  stats.steps = time.operations;
  if (!time.busy.empty()) {
    stats.first_step = time.busy.front().first / kTicks;
    stats.last_step = std::max<int64_t>(time.busy.back().second - 1, 0) / kTicks;
  }
  // What its cores load and store: an L2 does not know of nodes.
  stats.read_bytes = std::max(time.bytes.global_read, time.bytes.l2_read);
  stats.write_bytes = std::max(time.bytes.global_write, time.bytes.l2_write);
  stats.tile_scratchpad_read_bytes = time.bytes.scratchpad_read;
  stats.tile_scratchpad_write_bytes = time.bytes.scratchpad_write;
  stats.tile_link_bytes = time.bytes.link;
  stats.tile_register_bytes = time.bytes.registers;
}

}  // namespace

void count_tiles(const Graph& graph, const std::vector<TileNodeTime>& times, RunResult& result) {
  const FormCounts counts = counts_of(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto id = static_cast<NodeId>(n);
    NodeStats& stats = result.nodes[n];
    count_times(times[n], result.cycles, stats);
    stats.flops = times[n].flops + counts.flops_within(id);
    result.flops += stats.flops;
    const int64_t room = counts.room(node);
    for (const StreamId s : node.outputs) {
      const int64_t tiles = counts.tiles(id, s, stats.steps);
      result.streams[s] = {tiles, room};
      stats.tokens_out += tiles;
      result.tokens += tiles;
      result.peak_fifo_tokens = std::max(result.peak_fifo_tokens, room);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const Input& input : graph.nodes[n].inputs) {
      if (input.is_immediate()) continue;
      result.nodes[n].tokens_in += result.streams[input.stream].tokens;
    }
  }
}

}  // namespace fuseflow
