#include "cuda/kernel_parts.h"

#include <algorithm>

#include "cuda/coordinates.h"
#include "cuda/operand.h"

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
              CoreGroup peers) {
  const Graph& graph = *kernel.graph;
  const Node& node = graph.nodes[static_cast<size_t>(from)];
  Load load;
  load.name = name;
  load.node = from;
  load.matrix = {rounded_up(row.block, kProductUnit), rounded_up(column.block, kProductUnit), true,
                 8};
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

std::vector<NodeId> work_after_steps(const Graph& graph, const KernelRoles& roles) {
  std::vector<NodeId> nodes;
  for (const NodeId last : roles.last) {
    const NodeKind kind = graph.nodes[static_cast<size_t>(last)].kind;
    if (kind == NodeKind::map || kind == NodeKind::tile_coordinate) nodes.push_back(last);
  }
  return nodes;
}

}  // namespace fuseflow::cuda
