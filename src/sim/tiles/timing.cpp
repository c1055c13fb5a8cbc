#include "sim/tiles/timing.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/expand.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/rows.h"
#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostKernelCores = 4096;  ///< of a kernel where cores have no number

void check_links(const LinkBytes& links) {
  if (links.sent == links.received) return;
  throw Defect(
      fmt::format("the cores of a cluster send {} bytes over links "
                  "and receive {}",
                  links.sent, links.received));
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

/// The operations of a launch, which of them each of its clusters does, and where their tiles are.
struct Clusters {
  std::vector<TileOps> ops;
  std::vector<int32_t> which;
  TilePlaces places;
};

/// The clusters of a kernel that are at work, each with operations of its own: all that its cores
/// do. In a kernel that walks k, cores pass on what they share where the machine has no multicast.
Clusters clusters_of_kernel(const Graph& graph, const Machine& machine) {
  const bool rows = is_tile_rows(graph);
  const int cores = rows ? rows_cluster(graph).cores() : kernel_cluster(graph);
  const int64_t at_a_time =
      machine.core.count == 0 ? kMostKernelCores : machine.concurrent_clusters(cores);
  if (at_a_time < 1) refuse_cluster(cores, machine);
  Clusters clusters;
  clusters.ops = rows ? expand_rows(graph, at_a_time)
                      : expand_kernel(graph, at_a_time, !machine.links.multicast);
  clusters.which.resize(clusters.ops.size());
  std::iota(clusters.which.begin(), clusters.which.end(), 0);
  clusters.places.clusters.resize(clusters.ops.size(), ClusterAt{{0, 0, 0, 0}});
  clusters.places.nodes.resize(graph.nodes.size());
  return clusters;
}

/// The clusters of a chain, which all do the same at their places, but for what follows the second
/// product.
Clusters clusters_of_chain(const Graph& graph) {
  Clusters clusters;
  clusters.places = places_of(graph);
  clusters.ops.push_back(expand_tiles(graph, true));
  const bool epilogue = !tile_roles(graph).last_loads.empty();
  if (epilogue) clusters.ops.push_back(expand_tiles(graph, false));
  for (const ClusterAt& at : clusters.places.clusters) {
    clusters.which.push_back(epilogue && !adds_epilogue(at) ? 1 : 0);
  }
  return clusters;
}

}  // namespace

/// What was sent was received, everything was loaded and stored, and an L2 gave what memory gave.
Measured time_tiles(const Graph& graph, const Machine& machine, LaunchOptions options) {
  Clusters clusters = tile_form(graph) == TileForm::chain ? clusters_of_chain(graph)
                                                          : clusters_of_kernel(graph, machine);
  std::vector<const TileOps*> ops;
  for (const TileOps& cluster : clusters.ops) {
    check_links(link_bytes_of(cluster, graph));
    ops.push_back(&cluster);
  }
  round_to_bursts(clusters.ops, machine);
  options.element_bytes = graph.tiles->element_bytes;
  options.places = &clusters.places;
  const Measured measured = time_launch(machine, ops, clusters.which, options);
  // What an L2 holds from the start, DRAM does not give.
  if (!measured.finished || !options.held.empty()) return measured;
  const auto broken = broken_memory_law(measured.bytes, compulsory_bytes(graph), machine.has_l2());
  if (broken) throw Defect(*broken);
  return measured;
}

}  // namespace fuseflow
