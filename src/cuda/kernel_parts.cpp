#include "cuda/kernel_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "chip/needs.h"
#include "cuda/coordinates.h"
#include "cuda/operand.h"
#include "cuda/refuse.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {

namespace {

const std::string& dim_name(const Kernel& kernel, int dim) {
  return kernel.graph->indices[static_cast<size_t>(dim)].name;
}

}  // namespace

Kernel begin_kernel(const Graph& graph, const TableRows* table) {
  Kernel kernel;
  kernel.graph = &graph;
  kernel.table = table;
  if (table != nullptr) kernel.rows = launch_rows(graph, *table);
  return kernel;
}

std::map<std::string, Coordinate> spread_over_clusters(
    Kernel& kernel, const std::vector<std::pair<std::string, int64_t>>& tiles) {
  std::map<std::string, Coordinate> at;
  int64_t divisor = 1;
  bool after_rows = false;
  kernel.clusters = 1;
  for (const auto& [name, extent] : tiles) {
    const bool of_rows = kernel.rows.dim >= 0 && dim_name(kernel, kernel.rows.dim) == name;
    const bool walked = extent > 1 || of_rows;
    if (walked) kernel.variables.push_back({name, "cluster", divisor, extent, after_rows, of_rows});
    at[name] = coordinate(walked ? name : "");
    kernel.clusters *= extent;
    if (!of_rows) divisor *= extent;
    if (!of_rows) continue;
    after_rows = kernel.rows.over_clusters = true;
    kernel.rows.steps = extent;
  }
  if (!kernel.variables.empty() && kernel.variables.back().of_rows)
    kernel.variables.back().extent = 0;  // whatever is left
  return at;
}

void add_load(const Program& program, Kernel& kernel, const std::string& name, NodeId from,
              const DimensionAt& row, const DimensionAt& column, const DimensionAt& batch,
              CoreGroup peers, chip::Side side) {
  const Graph& graph = *kernel.graph;
  const Node& node = graph.nodes[static_cast<size_t>(from)];
  Load load;
  load.name = name;
  load.node = from;
  load.matrix = {chip::padded_block(graph, row.dim), chip::padded_block(graph, column.dim)};
  load.side = side;
  load.ring = static_cast<int>(kernel.loads.size());
  load.peers = std::move(peers);
  load.row = row.begin;
  load.column = column.begin;
  const bool batched = reads_along(graph, node, batch.dim);
  if (batched) load.batch = batch.begin;
  load.element = {node.tensor, node.tile.subscripts, {row, column, batch}};
  choose_copy(program, graph, load, {row.dim, column.dim, batched ? batch.dim : -1}, kernel.rows);
  kernel.loads.push_back(std::move(load));
}

namespace {

constexpr size_t kMostRanges = size_t{1} << 18;

/// What the cores of a group walk, as ranges of steps that the same cores take.
std::vector<StepRange> merged(const std::vector<std::vector<TileRange>>& by_core) {
  std::set<int64_t> bounds;
  for (const std::vector<TileRange>& walk : by_core) {
    for (const TileRange& range : walk) bounds.insert({range.begin, range.end});
  }
  std::vector<StepRange> all;
  for (auto at = bounds.begin(); at != bounds.end() && std::next(at) != bounds.end(); ++at) {
    uint32_t cores = 0;
    for (size_t c = 0; c < by_core.size(); ++c) {
      const bool takes = std::any_of(
          by_core[c].begin(), by_core[c].end(),
          [&](const TileRange& range) { return range.begin <= *at && *at < range.end; });
      if (takes) cores |= 1U << c;
    }
    if (cores == 0) continue;
    if (!all.empty() && all.back().end == *at && all.back().cores == cores) {
      all.back().end = *std::next(at);
    } else {
      all.push_back({*at, *std::next(at), cores});
    }
  }
  return all;
}

}  // namespace

std::optional<StepLists> step_lists(const Graph& graph, const Coordinate& group, int64_t cores,
                                    const Coordinate& core, const Coordinate& batch,
                                    const Coordinate& part) {
  if (!leaves_steps_out(graph)) return std::nullopt;
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t batches = walks_differ_by_batch(graph) ? tiles[kKernelG] : 1;
  const int64_t groups = ceil_div(tiles[kKernelM], cores), parts = depth_parts(graph);
  const auto all_cores = static_cast<uint32_t>((uint64_t{1} << cores) - 1);
  StepLists steps;
  steps.list =
      sum(times(sum(times(batches > 1 ? batch : Coordinate{}, groups), group), parts), part);
  steps.core = core;
  size_t ranges = 0;
  for (int64_t list = 0; list < batches * groups * parts; ++list) {
    const int64_t first = list / parts % groups * cores, g = list / parts / groups;
    std::vector<std::vector<TileRange>> by_core(static_cast<size_t>(cores));
    for (int64_t c = 0; c < cores && first + c < tiles[kKernelM]; ++c)
      by_core[static_cast<size_t>(c)] = kernel_walk_of(graph, first + c, g, list % parts);
    for (const std::vector<TileRange>& walk : by_core)
      steps.may_have_none = steps.may_have_none || walk.empty();
    steps.lists.push_back(merged(by_core));
    for (const StepRange& range : steps.lists.back())
      steps.differ = steps.differ || range.cores != all_cores;
    ranges += steps.lists.back().size();
    if (ranges > kMostRanges)
      throw Refused{
          fmt::format("more than {} ranges of steps that tiles of rows take", kMostRanges)};
  }
  return steps;
}

bool has_columns_beyond(const Graph& graph, int dim) {
  const GraphIndex& index = graph.indices[static_cast<size_t>(dim)];
  return index.extent * chip::padded_block(graph, dim) > index.elements();
}

std::vector<NodeId> work_after_steps(const Graph& graph, const KernelRoles& roles) {
  std::vector<NodeId> nodes;
  for (const NodeId last : roles.last) {
    const NodeKind kind = graph.nodes[static_cast<size_t>(last)].kind;
    if (kind == NodeKind::map || kind == NodeKind::tile_coordinate) nodes.push_back(last);
  }
  return nodes;
}

}  // namespace fuseflow::cuda
