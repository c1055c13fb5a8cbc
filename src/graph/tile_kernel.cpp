#include "graph/tile_kernel.h"

#include <algorithm>

namespace fuseflow {

bool is_tile_kernel(const Graph& graph) {
  return graph.tiles && graph.indices.size() == kKernelDims && graph.indices[kKernelG].name == "g";
}

namespace {

bool reduces_tiles(NodeKind kind) {
  return kind == NodeKind::tile_multiply || kind == NodeKind::reduce;
}

template <typename Size>
KernelSizes sizes_of(const Graph& graph, const Size& size) {
  KernelSizes sizes{};
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = size(graph.indices[d]);
  return sizes;
}

}  // namespace

KernelRoles kernel_roles(const Graph& graph) {
  KernelRoles roles;
  std::vector<NodeId> maps;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const NodeKind kind = graph.nodes[static_cast<size_t>(n)].kind;
    if (kind == NodeKind::tile_load) roles.loads.push_back(n);
    if (kind == NodeKind::map) maps.push_back(n);
    if (kind == NodeKind::tile_store) roles.store = n;
    if (reduces_tiles(kind)) {
      roles.reduction = n;
      roles.first_maps = std::move(maps);
      maps.clear();
    }
  }
  roles.last_maps = std::move(maps);
  return roles;
}

KernelSizes kernel_tiles(const Graph& graph) {
  return sizes_of(graph, [](const GraphIndex& index) { return index.extent; });
}

KernelSizes kernel_block(const Graph& graph) {
  return sizes_of(graph, [](const GraphIndex& index) { return index.block; });
}

KernelSizes kernel_elements(const Graph& graph) {
  return sizes_of(graph, [](const GraphIndex& index) { return index.elements(); });
}

int64_t tile_elements(const Graph& graph, StreamId stream) {
  int64_t elements = 1;
  for (const int dim : graph.streams[static_cast<size_t>(stream)].block) {
    elements *= graph.indices[static_cast<size_t>(dim)].block;
  }
  return elements;
}

std::array<bool, kKernelDims> varies_along(const Graph& graph, const Node& load) {
  std::array<bool, kKernelDims> varies{};
  for (const int dim : graph.streams[static_cast<size_t>(load.outputs[0])].block) {
    varies[static_cast<size_t>(dim)] = true;
  }
  int first = 0;
  for (int d = 0; d < kKernelG; ++d) {
    first += static_cast<int>(graph.indices[static_cast<size_t>(d)].digits.size());
  }
  for (const TileSubscript& subscript : load.subscripts) {
    for (const auto& [digit, factor] : subscript.terms) {
      if (digit >= first && factor != 0) varies[kKernelG] = true;
    }
  }
  return varies;
}

}  // namespace fuseflow
