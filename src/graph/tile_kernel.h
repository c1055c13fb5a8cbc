// Kernels of tiles: the second form of a graph of tiles. One statement by itself (a product, an
// elementwise expression, a reduction of rows) on cores that share nothing. Sizes and parts that
// follow from the text. Meaning: ir-spec/cluster.md, "Kernels". Nothing of machines or execution.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// The indices of a kernel: rows and columns of its result, what is summed over, and the batch,
/// of which a tile has one element.
enum KernelDim : int { kKernelM, kKernelN, kKernelK, kKernelG, kKernelDims };

/// Is this graph of tiles a kernel? Its fourth index is g; that of a chain is l.
bool is_tile_kernel(const Graph& graph);

/// The nodes of a kernel by what they do; -1 where there is none.
struct KernelRoles {
  std::vector<NodeId> loads;
  std::vector<NodeId> first_maps;  ///< before the reduction: once a step of k
  NodeId reduction = -1;           ///< a tile_multiply or a reduce
  std::vector<NodeId> last_maps;   ///< after it, or all of an elementwise kernel
  NodeId store = -1;
};
/// Needs a graph that verify_kernel (nodes/kernel_rules.h) accepts.
KernelRoles kernel_roles(const Graph& graph);

/// Numbers by KernelDim.
using KernelSizes = std::array<int64_t, kKernelDims>;
KernelSizes kernel_tiles(const Graph& graph);     ///< tiles along each dimension
KernelSizes kernel_block(const Graph& graph);     ///< elements of a tile along each dimension
KernelSizes kernel_elements(const Graph& graph);  ///< that exist

/// Elements of a tile of a stream.
int64_t tile_elements(const Graph& graph, StreamId stream);

/// Do the tiles of a load differ along a dimension? They do along those of its stream, and along g
/// where a subscript has a digit of it.
std::array<bool, kKernelDims> varies_along(const Graph& graph, const Node& load);

}  // namespace fuseflow
