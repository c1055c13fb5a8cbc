#include "sim/tiles/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/kernel_values.h"
#include "sim/tiles/rows_counts.h"
#include "sim/tiles/rows_values.h"
#include "sim/tiles/timing.h"
#include "sim/tiles/values.h"
#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kCyclesBetweenReports = 1000;

/// Bytes of registers and scratchpad of a core that a graph takes.
struct Need {
  int64_t registers = 0, scratchpad = 0;
};

Need need_of(const Graph& graph) {
  const TileRoles roles = tile_roles(graph);
  const TileGeometry g = tile_geometry(graph);
  const auto node = [&](NodeId n) -> const Node& { return graph.nodes[static_cast<size_t>(n)]; };
  const int64_t m = g.tile[Dim::m], n = g.tile[Dim::n], k = g.tile[Dim::k], l = g.tile[Dim::l];
  const int64_t element = graph.tiles->element_bytes;
  const int64_t products = graph.tiles->way == GatedWay::sequential ? 2 : 1;
  const auto& c = node(roles.hold).held;
  const auto& e = node(roles.second).held;
  int64_t slot = 0;
  if (roles.exchange >= 0) slot = std::max(slot, m * n / g.shape.k * kAccumulatorBytes);
  if (roles.shuffle >= 0) slot = std::max(slot, m * n * element);
  if (roles.scatter >= 0) slot = std::max(slot, m * l / g.shape.reduce() * kAccumulatorBytes);
  // What linked scratchpads keep of C is spread evenly over the other cores of the group.
  const int64_t peers = std::max(g.shape.k - 1, 1);
  Need need;
  need.registers =
      kAccumulatorBytes * m * (n * products + l * node(roles.second).capacity) + c[0] + e[0];
  need.scratchpad = node(roles.a).capacity * element * (m * k + k * n + n * l) +
                    kReceiveSlots * slot + c[1] + e[1] + ceil_div(c[2], peers);
  return need;
}

Need need_of_kernel(const Graph& graph) {
  const KernelNeed need = is_tile_rows(graph) ? rows_need(graph) : kernel_need(graph);
  return {need.registers, need.scratchpad};
}

void check_capacity(const Graph& graph, const Machine& machine) {
  if (machine.core.count == 0) return;
  const bool chain = !is_tile_kernel(graph) && !is_tile_rows(graph);
  const Need need = chain ? need_of(graph) : need_of_kernel(graph);
  const auto refuse = [&](const char* what, int64_t needed, int64_t has) {
    if (has == 0 || needed <= has) return;
    throw Error(ExitCode::rejected,
                fmt::format("a core needs {} bytes of {}, machine {} has {}; plan the chain for "
                            "this machine (fuseflow-cluster --machine)",
                            needed, what, machine.name, has));
  };
  refuse("registers", need.registers, machine.core.register_bytes);
  refuse("scratchpad", need.scratchpad, machine.core.scratchpad_bytes);
}

/// The limits of a run, asked while it goes on.
class Limits {
 public:
  explicit Limits(const RunOptions& options) : options_(options) {}

  bool go_on(int64_t cycles) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (options_.cancel != nullptr && options_.cancel->load()) {
      finish_ = Finish::cancelled;
    } else if (options_.max_cycles > 0 && cycles > options_.max_cycles) {
      finish_ = Finish::max_cycles;
    } else if (options_.max_seconds > 0 && seconds > options_.max_seconds) {
      finish_ = Finish::max_seconds;
    }
    if (options_.progress && cycles >= reported_ + kCyclesBetweenReports) {
      options_.progress(reported_ = cycles, 0);
    }
    return finish_ == Finish::done;
  }
  Finish finish() const { return finish_; }

 private:
  const RunOptions& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Finish finish_ = Finish::done;
  int64_t reported_ = 0;
};

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

/// The tiles of a node that takes streams.
void take_streams(const Node& node, const RunResult& result, NodeStats& stats) {
  for (const Input& input : node.inputs) {
    if (input.is_immediate()) continue;
    stats.tokens_in += result.streams[static_cast<size_t>(input.stream)].tokens;
  }
}

/// Counts of a kernel: every operation of a node gives one tile, but for a reduction that is read
/// after its last step.
void count_kernel(const Graph& graph, const std::vector<TileNodeTime>& times, RunResult& result) {
  std::vector<bool> read_in_step(graph.streams.size(), false);
  for (const NodeId n : kernel_roles(graph).steps) {
    for (const Input& input : graph.nodes[static_cast<size_t>(n)].inputs) {
      if (!input.is_immediate()) read_in_step[static_cast<size_t>(input.stream)] = true;
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    NodeStats& stats = result.nodes[n];
    count_times(times[n], result.cycles, stats);
    stats.flops = kernel_flops(graph, node, stats.steps);
    result.flops += stats.flops;
    for (const StreamId s : node.outputs) {
      const bool ends = is_held_reduction(graph, node) && !read_in_step[static_cast<size_t>(s)];
      const int64_t tokens = ends ? kernel_tile_count(graph) : stats.steps;
      result.streams[static_cast<size_t>(s)] = {tokens, std::max<int64_t>(node.capacity, 1)};
      stats.tokens_out += tokens;
      result.tokens += tokens;
      result.peak_fifo_tokens = std::max(result.peak_fifo_tokens, node.capacity);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    take_streams(graph.nodes[n], result, result.nodes[n]);
  }
}

/// Counts of a kernel of rows: a token is a tile that a node gives.
void count_rows(const Graph& graph, const std::vector<TileNodeTime>& times, RunResult& result) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    NodeStats& stats = result.nodes[n];
    count_times(times[n], result.cycles, stats);
    stats.flops = rows_flops(graph, node);
    result.flops += stats.flops;
    const bool loads = node.kind == NodeKind::tile_load;
    for (const StreamId s : node.outputs) {
      const int64_t tokens = loads ? stats.steps : rows_tiles_computed(graph, node);
      result.streams[static_cast<size_t>(s)] = {tokens, std::max<int64_t>(node.capacity, 1)};
      stats.tokens_out += tokens;
      result.tokens += tokens;
      result.peak_fifo_tokens = std::max(result.peak_fifo_tokens, node.capacity);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    take_streams(graph.nodes[n], result, result.nodes[n]);
  }
}

/// Turns what the operations did into the counts of nodes and streams.
class Counts {
 public:
  Counts(const Graph& graph, const std::vector<TileNodeTime>& times, RunResult& result)
      : graph_(graph), times_(times), result_(result), roles_(tile_roles(graph)) {
    const TileGeometry g = tile_geometry(graph);
    const int64_t blocks = g.clusters * g.shape.cores();
    c_tiles_ = blocks * g.temporal[Dim::m] * g.temporal[Dim::n];
    e_tiles_ = blocks * g.temporal[Dim::m] * g.temporal[Dim::l];
    uses_ = c_tiles_ * g.temporal[Dim::l];
    c_elements_ = c_tiles_ * (g.tile[Dim::m] * g.tile[Dim::n] / g.shape.k);
    e_elements_ = e_tiles_ * (g.tile[Dim::m] * g.tile[Dim::l] / g.shape.reduce());
    shape_ = g.shape;
    sharers_ = g.sharers();
  }

  void fill() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) count_node(n);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) count_streams(n);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      take_streams(graph_.nodes[n], result_, result_.nodes[n]);
    }
  }

 private:
  void count_node(size_t n) {
    NodeStats& stats = result_.nodes[n];
    count_times(times_[n], result_.cycles, stats);
    stats.flops = flops_of(static_cast<NodeId>(n));
    result_.flops += stats.flops;
  }

  int64_t flops_of(NodeId id) const {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const TileGeometry g = tile_geometry(graph_);
    const auto operations = times_[static_cast<size_t>(id)].operations;
    const bool last =
        std::find(roles_.last_maps.begin(), roles_.last_maps.end(), id) != roles_.last_maps.end();
    switch (node.kind) {
      case NodeKind::tile_multiply:
        return id == roles_.second
                   ? 2 * g.tile[Dim::m] * g.tile[Dim::n] * g.tile[Dim::l] * uses_ * shape_.shuffle()
                   : 2 * g.tile[Dim::m] * g.tile[Dim::n] * g.tile[Dim::k] * operations;
      case NodeKind::map:
        return op_info(node.op).flops * (last ? e_elements_ / sharers_ : c_elements_);
      case NodeKind::exchange:
        return graph_.tiles->way == GatedWay::split
                   ? 0
                   : (shape_.k - 1) * c_elements_ * static_cast<int64_t>(node.outputs.size());
      case NodeKind::reduce_scatter:
        return (shape_.reduce() - 1) * e_elements_;
      case NodeKind::tile_store:
        return e_elements_ / sharers_ * (sharers_ - 1);
      default:
        return 0;
    }
  }

  int64_t given(NodeId id) const {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    const bool last =
        std::find(roles_.last_maps.begin(), roles_.last_maps.end(), id) != roles_.last_maps.end();
    switch (node.kind) {
      case NodeKind::tile_load:
        return times_[static_cast<size_t>(id)].operations;
      case NodeKind::tile_multiply:
        return id == roles_.second ? e_tiles_ : node.branch >= 0 ? c_tiles_ / 2 : c_tiles_;
      case NodeKind::map:
        return last ? e_tiles_ / sharers_ : c_tiles_;
      case NodeKind::tile_hold:
        return uses_;
      case NodeKind::shuffle:
        return uses_ * shape_.shuffle();
      case NodeKind::reduce_scatter:
        return e_tiles_;
      default:
        return c_tiles_;
    }
  }

  void count_streams(size_t n) {
    const Node& node = graph_.nodes[n];
    const int64_t room = node.kind == NodeKind::tile_load && node.capacity > 0 ? node.capacity
                         : node.kind == NodeKind::shuffle                      ? kReceiveSlots
                                                                               : 1;
    for (const StreamId s : node.outputs) {
      StreamStats& stream = result_.streams[static_cast<size_t>(s)];
      stream = {given(static_cast<NodeId>(n)), room};
      result_.nodes[n].tokens_out += stream.tokens;
      result_.tokens += stream.tokens;
      result_.peak_fifo_tokens = std::max(result_.peak_fifo_tokens, room);
    }
  }

  const Graph& graph_;
  const std::vector<TileNodeTime>& times_;
  RunResult& result_;
  const TileRoles roles_;
  ClusterShape shape_;
  int64_t c_tiles_ = 0, e_tiles_ = 0, uses_ = 0, c_elements_ = 0, e_elements_ = 0, sharers_ = 1;
};

/// When each node was busy, for --trace.
void trace_nodes(const std::vector<TileNodeTime>& times, RunResult& result) {
  result.activity.resize(times.size());
  result.stalls.resize(times.size());
  for (size_t n = 0; n < times.size(); ++n) {
    int64_t free = 0;
    for (const auto& [first, end] : times[n].busy) {
      const int64_t begin = std::max(free, first / kTicks);
      const int64_t last = std::max<int64_t>(end - 1, first) / kTicks;
      if (last < begin) continue;
      result.activity[n].add(begin, last);
      free = last + 1;
    }
  }
}

}  // namespace

namespace {

RunResult counted(const Graph& graph, const Machine& machine, const RunOptions& options,
                  Limits& limits) {
  check_capacity(graph, machine);
  std::vector<TileNodeTime> times(graph.nodes.size());
  LaunchOptions launch;
  launch.nodes = &times;
  launch.go_on = [&](int64_t cycles) { return limits.go_on(cycles); };
  const Measured measured = time_tiles(graph, machine, launch);
  RunResult result;
  result.cycles = measured.cycles;
  result.dram_read_bytes = measured.bytes.global_read;
  result.dram_write_bytes = measured.bytes.global_write;
  result.scratchpad_read_bytes = measured.bytes.scratchpad_read;
  result.scratchpad_write_bytes = measured.bytes.scratchpad_write;
  result.link_bytes = measured.bytes.link;
  result.register_bytes = measured.bytes.registers;
  result.l2_read_bytes = measured.bytes.l2_read;
  result.l2_write_bytes = measured.bytes.l2_write;
  result.timing_operations = measured.nodes;
  result.nodes.resize(graph.nodes.size());
  result.streams.resize(graph.streams.size());
  if (is_tile_kernel(graph)) {
    count_kernel(graph, times, result);
  } else if (is_tile_rows(graph)) {
    count_rows(graph, times, result);
  } else {
    Counts(graph, times, result).fill();
  }
  if (options.trace) trace_nodes(times, result);
  limits.go_on(measured.cycles);
  result.finish = limits.finish();
  return result;
}

}  // namespace

RunResult time_tiles_region(const Graph& graph, const Machine& machine, const RunOptions& options) {
  Limits limits(options);
  return counted(graph, machine, options, limits);
}

RunResult run_tiles(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options) {
  Limits limits(options);
  RunResult result = counted(graph, machine, options, limits);
  if (result.finish != Finish::done) return result;
  const auto go_on = [&] { return limits.go_on(0); };
  if (is_tile_rows(graph)) {
    result.results = rows_values(program, graph, data, go_on);
    result.finish = limits.finish();
    return result;
  }
  const bool kernel = is_tile_kernel(graph);
  const auto stored = kernel ? kernel_values(program, graph, data, go_on)
                             : tile_values(program, graph, data, go_on);
  result.finish = limits.finish();
  if (stored != nullptr) {
    const NodeId store = kernel ? kernel_roles(graph).store : tile_roles(graph).store;
    result.results.emplace_back(graph.nodes[static_cast<size_t>(store)].tensor, stored);
  }
  return result;
}

}  // namespace fuseflow
