#include "sim/tiles/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "sim/tiles/expand.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows_counts.h"
#include "sim/tiles/run_counts.h"
#include "sim/tiles/timing.h"
#include "sim/tiles/values.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/latest.h"

namespace fuseflow {
namespace {

constexpr int64_t kCyclesBetweenReports = 1000;

/// What a chain takes of a core.
KernelNeed chain_need(const Graph& graph) {
  const TileRoles roles = tile_roles(graph);
  const TileGeometry g = tile_geometry(graph);
  const auto node = [&](NodeId n) -> const Node& { return graph.nodes[n]; };
  const auto [m, n, k, l] = g.tile.value;
  const int64_t products = graph.tiles->way == GatedWay::sequential ? 2 : 1;
  const HeldBytes c = held_bytes(node(roles.hold)), e = held_bytes(node(roles.second));
  // What linked scratchpads keep of C is spread evenly over the other cores of the group.
  const int64_t peers = std::max(g.shape.k - 1, 1);
  KernelNeed need;
  need.registers = kAccumulatorBytes * m * (n * products + l * node(roles.second).capacity) +
                   c.registers + e.registers;
  int64_t b_bytes = 0;  // the branches take turns in one buffer
  for (int branch = 0; branch < roles.branches; ++branch) {
    b_bytes = std::max(b_bytes, moved_bytes(graph, node(roles.b[branch])));
  }
  const int64_t copy = m * k * moved_bytes(graph, node(roles.a)) + k * n * b_bytes +
                       n * l * moved_bytes(graph, node(roles.d));
  need.scratchpad = node(roles.a).capacity * copy +
                    receive_room(g.shape, m * n, m * l, graph.tiles->element_bytes,
                                 slices_stay(graph, roles), slice_slots(g.shape)) +
                    c.scratchpad + e.scratchpad + ceil_div(c.links, peers);
  return need;
}

KernelNeed need_of(const Graph& graph) {
  const TileForm form = tile_form(graph);
  if (form == TileForm::chain) return chain_need(graph);
  return form == TileForm::rows ? rows_need(graph) : kernel_need(graph);
}

void check_capacity(const Graph& graph, const Machine& machine) {
  if (machine.core.count == 0) return;
  const KernelNeed need = need_of(graph);
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

/// When each node was busy, for --trace.
void trace_nodes(const std::vector<TileNodeTime>& times, RunResult& result) {
  result.activity.resize(times.size());
  result.stalls.resize(times.size());
  result.waits.resize(times.size());
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
  result.nodes.resize(graph.nodes.size());
  result.streams.resize(graph.streams.size());
  count_tiles(graph, times, result);
  if (options.trace) trace_nodes(times, result);
  limits.go_on(measured.cycles);
  result.finish = limits.finish();
  if (result.finish == Finish::done && !measured.finished) {
    result.finish = Finish::max_cycles;
    result.cycles = kLatest;
  }
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
  result.results = tile_values(program, graph, data, [&] { return limits.go_on(0); });
  result.finish = limits.finish();
  return result;
}

}  // namespace fuseflow
