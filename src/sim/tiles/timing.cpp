#include "sim/tiles/timing.h"

#include <fmt/format.h>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/expand.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows.h"
#include "sim/tiles/rows_counts.h"
#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostKernelCores = 4096;  ///< of a kernel where cores have no number

void check_links(const LinkBytes& links) {
  if (links.sent == links.received) return;
  throw Error(ExitCode::internal, fmt::format("the cores of a cluster send {} bytes over links "
                                              "and receive {}",
                                              links.sent, links.received));
}

/// What was sent was received, everything was loaded and stored, and an L2 gave what memory gave.
void check_bytes(const Graph& graph, const Machine& machine,
                 const std::vector<const TileOps*>& clusters, const Measured& measured, bool held) {
  for (const TileOps* ops : clusters) check_links(link_bytes_of(*ops, graph));
  if (!measured.finished || held) return;  // what an L2 holds from the start, DRAM does not give
  const auto broken = broken_memory_law(measured.bytes, compulsory_bytes(graph), machine.has_l2());
  if (broken) throw Error(ExitCode::internal, *broken);
}

/// What is gathered is asked row by row, of memory and L2 in whole bursts.
void round_to_bursts(std::vector<TileOps>& cores, const Machine& machine) {
  for (TileOps& core : cores) {
    for (TileOp& op : core.nodes) {
      if (op.pieces == 0) continue;
      const int64_t piece = op.bytes.global_read / op.pieces, burst = machine.dram.burst_bytes;
      op.bytes.global_read = op.pieces * ceil_div(piece, burst) * burst;
    }
  }
}

/// Clusters whose operations know their tiles by number: all that their cores do.
Measured time_numbered(const Graph& graph, const Machine& machine, const std::vector<TileOps>& ops,
                       LaunchOptions options) {
  std::vector<const TileOps*> graphs;
  std::vector<int32_t> which;
  for (const TileOps& cluster : ops) {
    which.push_back(static_cast<int32_t>(graphs.size()));
    graphs.push_back(&cluster);
  }
  TilePlaces places;
  places.clusters.resize(ops.size(), ClusterAt{{0, 0, 0, 0}});
  places.nodes.resize(graph.nodes.size());
  options.element_bytes = graph.tiles->element_bytes;
  options.places = &places;
  const Measured measured = time_launch(machine, graphs, which, options);
  // What an L2 holds from the start, DRAM does not give.
  if (!measured.finished || !options.held.empty()) return measured;
  const auto broken =
      broken_memory_law(measured.bytes, compulsory_kernel_bytes(graph), machine.has_l2());
  if (broken) throw Error(ExitCode::internal, *broken);
  return measured;
}

/// A kernel: a cluster for each that is at work. Of one that walks a loop the cores pass on what
/// they share where the machine has no multicast.
Measured time_kernel(const Graph& graph, const Machine& machine, LaunchOptions options) {
  const bool rows = is_tile_rows(graph);
  const int cores = rows ? rows_cluster(graph).cores() : kernel_cluster(graph);
  const int64_t clusters =
      machine.core.count == 0 ? kMostKernelCores : machine.concurrent_clusters(cores);
  if (clusters < 1) refuse_cluster(cores, machine);
  std::vector<TileOps> ops = rows ? expand_rows(graph, clusters)
                                  : expand_kernel(graph, clusters, !machine.links.multicast);
  for (const TileOps& cluster : ops) check_links(link_bytes_by_node(cluster, graph));
  round_to_bursts(ops, machine);
  return time_numbered(graph, machine, ops, std::move(options));
}

}  // namespace

Measured time_tiles(const Graph& graph, const Machine& machine, LaunchOptions options) {
  if (tile_form(graph) != TileForm::chain) return time_kernel(graph, machine, std::move(options));
  const bool epilogue = !tile_roles(graph).last_loads.empty();
  const TileOps first = expand_tiles(graph, true);
  const TileOps other = epilogue ? expand_tiles(graph, false) : TileOps{};
  std::vector<int32_t> which;
  for (const ClusterAt& at : clusters_of(graph)) {
    which.push_back(epilogue && !adds_epilogue(at) ? 1 : 0);
  }
  std::vector<const TileOps*> graphs{&first};
  if (epilogue) graphs.push_back(&other);
  options.element_bytes = graph.tiles->element_bytes;
  const TilePlaces places = places_of(graph);
  options.places = &places;
  const Measured measured = time_launch(machine, graphs, which, options);
  check_bytes(graph, machine, graphs, measured, !options.held.empty());
  return measured;
}

}  // namespace fuseflow
