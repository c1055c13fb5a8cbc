#include "graph/tile_kernel.h"

#include <algorithm>
#include <iterator>

#include "support/ceil_div.h"

namespace fuseflow {

bool is_tile_kernel(const Graph& graph) {
  const size_t indices = graph.indices.size();
  return graph.tiles && (indices == kKernelDims || indices == kKernelDims + 1) &&
         graph.indices[kKernelG].name == "g";
}

namespace {

template <typename Size>
KernelSizes sizes_of(const Graph& graph, const Size& size) {
  KernelSizes sizes{};
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = size(graph.indices[d]);
  return sizes;
}

}  // namespace

int kernel_cluster(const Graph& graph) {
  return graph.indices[kKernelM].tiling.cluster * summing_cores(graph);
}

int column_cores(const Graph& graph) {
  return graph.indices[kKernelN].tiling.cluster;
}

int depth_cores(const Graph& graph) {
  return graph.indices[kKernelK].tiling.cluster;
}

int summing_cores(const Graph& graph) {
  return column_cores(graph) * depth_cores(graph);
}

std::vector<TileRange> kernel_walk(const Graph& graph, int64_t m, int64_t g) {
  const GraphIndex& rows = graph.indices[kKernelM];
  const GraphIndex& along = graph.indices[kKernelK];
  if (!graph.tiles->open.empty()) {
    const int64_t list = walks_differ_by_batch(graph) ? g * rows.extent + m : m;
    return graph.tiles->open[static_cast<size_t>(list)];
  }
  if (!graph.tiles->band) return {{0, along.extent}};
  const auto [least, most] = *graph.tiles->band;
  const int64_t last_row = std::min((m + 1) * rows.block, rows.elements()) - 1;
  const int64_t first = std::clamp<int64_t>(m * rows.block + least, 0, along.elements() - 1);
  const int64_t last = std::clamp<int64_t>(last_row + most, first, along.elements() - 1);
  return {{first / along.block, last / along.block + 1}};
}

int64_t adding_clusters(const Graph& graph) {
  const Node& last = graph.nodes.back();
  return last.kind == NodeKind::tile_store ? std::max<int64_t>(last.capacity, 1) : 1;
}

int64_t depth_parts(const Graph& graph) {
  return depth_cores(graph) * adding_clusters(graph);
}

std::vector<TileRange> kernel_walk_of(const Graph& graph, int64_t m, int64_t g, int64_t part) {
  std::vector<TileRange> walk = kernel_walk(graph, m, g);
  const int64_t parts = depth_parts(graph);
  if (parts == 1) return walk;
  int64_t tiles = 0;
  for (const TileRange& range : walk) tiles += range.end - range.begin;
  const int64_t first = tiles * part / parts, end = tiles * (part + 1) / parts;
  std::vector<TileRange> taken;
  int64_t before = 0;  // tiles of the ranges before this one
  for (const TileRange& range : walk) {
    const TileRange own{range.begin + std::max<int64_t>(first - before, 0),
                        std::min(range.end, range.begin + end - before)};
    if (own.begin < own.end) taken.push_back(own);
    before += range.end - range.begin;
  }
  return taken;
}

bool leaves_steps_out(const Graph& graph) {
  return graph.tiles->band || !graph.tiles->open.empty();
}

bool walks_differ_by_batch(const Graph& graph) {
  const auto lists = static_cast<int64_t>(graph.tiles->open.size());
  return lists > graph.indices[kKernelM].extent;
}

NodeId load_of_absent_tiles(const Graph& graph) {
  const KernelRoles roles = kernel_roles(graph);
  if (graph.tiles->open.empty() || roles.held()) return -1;
  const Node& product = graph.nodes[static_cast<size_t>(roles.reductions[0])];
  return graph.streams[static_cast<size_t>(product.inputs[0].stream)].producer;
}

int64_t gathered_step(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_multiply && is_held_reduction(graph, node)) {
      return node.capacity;
    }
  }
  return 0;
}

namespace {

/// Do the tiles that a node gives extend over a dimension?
bool gives_along(const Graph& graph, const Node& node, KernelDim dim) {
  if (node.outputs.empty()) return false;  // the verifier says so later
  const std::vector<int>& dims = graph.streams[static_cast<size_t>(node.outputs[0])].block;
  return std::find(dims.begin(), dims.end(), static_cast<int>(dim)) != dims.end();
}

}  // namespace

bool is_held_reduction(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::reduce) return true;
  return node.kind == NodeKind::tile_multiply && !gives_along(graph, node, kKernelK) &&
         !gives_along(graph, node, kKernelL);
}

bool is_second_product(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::tile_multiply && gives_along(graph, node, kKernelL);
}

bool has_second_product(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return is_second_product(graph, node); });
}

bool is_exchange(const Node& node) {
  return node.kind == NodeKind::reduce_scatter || node.kind == NodeKind::all_reduce;
}

std::vector<bool> partial_streams(const Graph& graph, const KernelRoles& roles) {
  std::vector<bool> partial(graph.streams.size(), false);
  if (summing_cores(graph) == 1) return partial;
  const auto given = [&](NodeId n, bool is_partial) {
    for (const StreamId s : graph.nodes[static_cast<size_t>(n)].outputs) {
      partial[static_cast<size_t>(s)] = is_partial;
    }
  };
  if (depth_cores(graph) > 1) {
    for (const NodeId n : roles.reductions) given(n, true);
  }
  for (const NodeId n : roles.last) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const bool takes = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Input& in) {
      return !in.is_immediate() && partial[static_cast<size_t>(in.stream)];
    });
    given(n, !is_exchange(node) && (takes || is_second_product(graph, node)));
  }
  return partial;
}

const Input* rescale_of(const Node& reduction) {
  const size_t own = reduction.kind == NodeKind::tile_multiply ? 2 : 1;
  return reduction.inputs.size() > own ? &reduction.inputs[own] : nullptr;
}

KernelRoles kernel_roles(const Graph& graph) {
  KernelRoles roles;
  std::vector<NodeId> open;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.kind == NodeKind::tile_load) {
      roles.loads.push_back(n);
    } else if (node.kind == NodeKind::tile_store) {
      roles.store = n;
    } else {
      open.push_back(n);
      if (is_exchange(node)) roles.exchanges.push_back(n);
      if (node.kind == NodeKind::reduce_scatter) roles.scatter = n;
    }
    if (is_held_reduction(graph, node)) {
      roles.reductions.push_back(n);
      roles.steps.insert(roles.steps.end(), open.begin(), open.end());
      open.clear();
    }
  }
  roles.last = std::move(open);
  return roles;
}

namespace {

bool is_among(const std::vector<NodeId>& nodes, NodeId n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

}  // namespace

std::vector<bool> reads_running(const Graph& graph, const KernelRoles& roles) {
  std::vector<bool> running(graph.nodes.size(), false);
  for (const NodeId n : roles.steps) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.kind == NodeKind::tile_hold) continue;
    const Input* factor = is_held_reduction(graph, node) ? rescale_of(node) : nullptr;
    for (const Input& input : node.inputs) {
      if (input.is_immediate() || &input == factor) continue;
      const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
      if (is_among(roles.reductions, from) || running[static_cast<size_t>(from)]) {
        running[static_cast<size_t>(n)] = true;
      }
    }
  }
  return running;
}

namespace {

/// By node: does it take what a `tile_hold` gives, itself or by what it takes within a step?
std::vector<bool> takes_results(const Graph& graph, const KernelRoles& roles) {
  std::vector<bool> takes(graph.nodes.size(), false);
  for (const NodeId n : roles.steps) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const auto from =
          static_cast<size_t>(graph.streams[static_cast<size_t>(input.stream)].producer);
      const bool held = is_held_reduction(graph, graph.nodes[from]);
      if (graph.nodes[from].kind == NodeKind::tile_hold || (takes[from] && !held)) {
        takes[static_cast<size_t>(n)] = true;
      }
    }
  }
  return takes;
}

/// These reductions, and the nodes of a step that they need; what others hold is there.
std::vector<NodeId> needed_in_steps(const Graph& graph, const KernelRoles& roles,
                                    const std::vector<NodeId>& reductions) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (auto n = roles.steps.rbegin(); n != roles.steps.rend(); ++n) {
    const auto at = static_cast<size_t>(*n);
    if (is_held_reduction(graph, graph.nodes[at])) needed[at] = is_among(reductions, *n);
    if (!needed[at]) continue;
    for (const Input& input : graph.nodes[at].inputs) {
      if (input.is_immediate()) continue;
      needed[static_cast<size_t>(graph.streams[static_cast<size_t>(input.stream)].producer)] = true;
    }
  }
  std::vector<NodeId> nodes;
  std::copy_if(roles.steps.begin(), roles.steps.end(), std::back_inserter(nodes),
               [&](NodeId n) { return needed[static_cast<size_t>(n)]; });
  return nodes;
}

}  // namespace

std::vector<std::vector<NodeId>> kernel_walks(const Graph& graph, const KernelRoles& roles) {
  std::vector<NodeId> first, second;
  const std::vector<bool> takes = takes_results(graph, roles);
  for (const NodeId n : roles.reductions) {
    (takes[static_cast<size_t>(n)] ? second : first).push_back(n);
  }
  if (second.empty()) return {roles.steps};
  return {needed_in_steps(graph, roles, first), needed_in_steps(graph, roles, second)};
}

std::vector<NodeId> loads_of_walk(const Graph& graph, const KernelRoles& roles,
                                  const std::vector<std::vector<NodeId>>& walks, size_t walk) {
  if (walks.size() == 1) return roles.loads;
  std::vector<bool> elsewhere(graph.nodes.size(), false), here(graph.nodes.size(), false);
  for (size_t w = 0; w < walks.size(); ++w) {
    for (const NodeId n : walks[w]) {
      for (const Input& input : graph.nodes[static_cast<size_t>(n)].inputs) {
        if (input.is_immediate()) continue;
        const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
        (w == walk ? here : elsewhere)[static_cast<size_t>(from)] = true;
      }
    }
  }
  const bool last = walk + 1 == walks.size();
  std::vector<NodeId> loads;
  for (const NodeId n : roles.loads) {
    const auto at = static_cast<size_t>(n);
    if (here[at] || (last && !elsewhere[at])) loads.push_back(n);
  }
  return loads;
}

KernelSizes kernel_tiles(const Graph& graph) {
  return sizes_of(graph, [](const GraphIndex& index) { return index.extent; });
}

KernelSizes kernel_block(const Graph& graph) {
  return sizes_of(graph, [](const GraphIndex& index) { return index.block; });
}

KernelSizes kernel_step(const Graph& graph) {
  KernelSizes step = kernel_block(graph);
  step[kKernelK] *= std::max<int64_t>(gathered_step(graph), 1);
  return step;
}

int64_t tile_elements(const Graph& graph, StreamId stream) {
  int64_t elements = 1;
  for (const int dim : graph.streams[static_cast<size_t>(stream)].block) {
    elements *= graph.indices[static_cast<size_t>(dim)].block;
  }
  return elements;
}

namespace {

std::vector<Node>::const_iterator scatter_of(const Graph& graph) {
  return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                      [](const Node& node) { return node.kind == NodeKind::reduce_scatter; });
}

}  // namespace

StreamId summed_stream(const Graph& graph, const KernelRoles& roles) {
  const NodeId n = roles.scatter >= 0 ? roles.scatter : roles.reductions[0];
  return graph.nodes[static_cast<size_t>(n)].outputs[0];
}

bool taken_by_shares(const Graph& graph, StreamId stream) {
  const auto scatter = scatter_of(graph);
  const auto takes = [&](const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Input& input) { return input.stream == stream; });
  };
  return scatter != graph.nodes.end() && std::any_of(scatter + 1, graph.nodes.end(), takes);
}

namespace {

/// Do cores that give parts of a sum each have a share of a stream? Of what follows the sum over a
/// cluster, and of loads that it takes.
bool is_shared(const Graph& graph, StreamId stream) {
  if (!is_tile_kernel(graph) || summing_cores(graph) == 1) return false;
  const std::vector<int>& dims = graph.streams[static_cast<size_t>(stream)].block;
  if (std::find(dims.begin(), dims.end(), shared_dim(graph)) == dims.end()) return false;
  const NodeId producer = graph.streams[static_cast<size_t>(stream)].producer;
  if (graph.nodes[static_cast<size_t>(producer)].kind != NodeKind::tile_load) {
    return graph.nodes.begin() + producer >= scatter_of(graph);
  }
  return taken_by_shares(graph, stream);
}

}  // namespace

int shared_dim(const Graph& graph) {
  if (graph.indices[kKernelM].block % summing_cores(graph) == 0) return kKernelM;
  return has_second_product(graph) ? kKernelL : kKernelN;
}

int shares_of(const Graph& graph, StreamId stream) {
  return is_shared(graph, stream) ? summing_cores(graph) : 1;
}

int64_t core_elements(const Graph& graph, StreamId stream) {
  return tile_elements(graph, stream) / shares_of(graph, stream);
}

int64_t numbers_sent(int64_t count) {
  constexpr int64_t kInCopy = 4;  // 16 bytes
  return ceil_div(count, kInCopy) * kInCopy;
}

}  // namespace fuseflow
