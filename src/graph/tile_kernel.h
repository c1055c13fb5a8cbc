// Kernels of tiles: the second form of a graph of tiles. One statement by itself (a product, an
// elementwise expression, a reduction of rows), or statements whose reductions walk the same loop
// together (attention), on cores that share at most what they load. Sizes and parts that follow
// from the text. Meaning: ir-spec/cluster.md, "Kernels". Nothing of machines or execution.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/tiles.h"

namespace fuseflow {

/// The indices of a kernel: rows and columns of its result, what its reductions walk, and the
/// batch, of which a tile has one element. A fifth, l, is one tile, so that nothing walks it: what
/// a product within a step of k sums, or the columns of a product after the one over k.
enum KernelDim : int {
  kKernelM,
  kKernelN,
  kKernelK,
  kKernelG,
  kKernelDims,
  kKernelL = kKernelDims
};

/// Is this graph of tiles a kernel? Its fourth index is g; that of a chain is l.
bool is_tile_kernel(const Graph& graph);

/// The nodes of a kernel by what they do; -1 where there is none.
struct KernelRoles {
  std::vector<NodeId> loads;
  std::vector<NodeId> steps;       ///< once a step of k, in order; the last is a reduction
  std::vector<NodeId> reductions;  ///< of these, those that hold a result from step to step
  std::vector<NodeId> last;        ///< after them, or all of an elementwise kernel
  std::vector<NodeId> exchanges;   ///< of `last`: what the cores of a cluster reduce together
  NodeId scatter = -1;             ///< ... the last of these, after which each core has a share
  NodeId store = -1;
  /// Several reductions walk k together: what they hold may be read before the last step.
  bool held() const { return reductions.size() > 1; }
};
/// Needs a graph that verify_kernel (nodes/kernel_check.h) accepts.
KernelRoles kernel_roles(const Graph& graph);

/// Numbers by KernelDim.
using KernelSizes = std::array<int64_t, kKernelDims>;
KernelSizes kernel_tiles(const Graph& graph);  ///< tiles along each dimension
KernelSizes kernel_block(const Graph& graph);  ///< elements of a tile along each dimension

/// Cores of a cluster. They have tiles of rows that follow each other, of the same columns and
/// element of the batch; the last ones of a cluster have none where the tiles do not fill it. Or
/// they have the same rows and give parts of one sum (summing_cores).
int kernel_cluster(const Graph& graph);
/// Cores that have a tile of the columns each, of the same rows: only of a kernel with a product
/// after its steps, which has no more tiles of columns. 1: a core has all columns.
int column_cores(const Graph& graph);
/// Cores that have the same tile and walk a part of its steps of k each: of a product by itself, or
/// of reductions that walk k together. 1: a core walks them all.
int depth_cores(const Graph& graph);
/// Cores of which each has a part of what a reduce_scatter sums: those that share columns or k.
int summing_cores(const Graph& graph);
/// Clusters that have the same tile and walk a part of its steps of k each, and add to it in memory
/// (the capacity of the store): only of a product by itself that sums alone follow. 1: one has all.
int64_t adding_clusters(const Graph& graph);
/// Parts into which the steps of k of a tile are divided.
int64_t depth_parts(const Graph& graph);

/// The tiles of k that a tile of rows (of an element of the batch) walks: all of them, or those
/// that are open. Of a single product `open` has the tiles of its (m, k) operand that may hold a
/// value, perhaps none, in a list for each tile of rows, of each element of the batch (the slower
/// one) where these differ. One step where the kernel has no reductions.
std::vector<TileRange> kernel_walk(const Graph& graph, int64_t m, int64_t g = 0);
/// One part (of depth_parts) of kernel_walk(): it has as many tiles as any other part, or one more.
/// Core c of cluster number b of those that add has the part b * depth_cores + c.
std::vector<TileRange> kernel_walk_of(const Graph& graph, int64_t m, int64_t g, int64_t part);
/// Are there steps that some tile of rows leaves out?
bool leaves_steps_out(const Graph& graph);
/// Do the steps that are left out differ by the element of the batch?
bool walks_differ_by_batch(const Graph& graph);
/// A single product that leaves out tiles of its (m, k) operand that hold no value: the load of
/// that operand, else -1.
NodeId load_of_absent_tiles(const Graph& graph);

/// A gathered product: the single k that a tile of rows walks (blocks of one k) are packed, so many
/// to a step; the last step of a tile may have fewer. 0: steps are tiles of k.
int64_t gathered_step(const Graph& graph);
inline constexpr int64_t kMostGathered = 256;
/// Elements of a step along each dimension: a tile's, but for the k that are packed.
KernelSizes kernel_step(const Graph& graph);

/// Does a node hold a result from one step of k to the next? All reductions of rows do, and the
/// products over k.
bool is_held_reduction(const Graph& graph, const Node& node);

/// Is a product after the one over k: of a tile (m, n) of the core and a load (n, l), once a tile?
bool is_second_product(const Graph& graph, const Node& node);
/// Has the kernel one? Its result is (m, l) then, and n is one tile, or one a core of a cluster.
bool has_second_product(const Graph& graph);

/// Does a node reduce what the cores of a cluster have, over links? An all_reduce gives each of
/// them the whole, a reduce_scatter a share.
bool is_exchange(const Node& node);
inline constexpr size_t kMostExchanges = 16;  ///< of a kernel

/// By stream: does each core of a cluster that gives parts of sums have a part of its own?
/// Reductions of k give such streams, and maps of them.
std::vector<bool> partial_streams(const Graph& graph, const KernelRoles& roles);

/// The stream that has the whole sum of a product by itself, on the core that has a share of it.
StreamId summed_stream(const Graph& graph, const KernelRoles& roles);

/// Does a node after the sum over a cluster take a stream?
bool taken_by_shares(const Graph& graph, StreamId stream);

/// The factor by which a reduction multiplies what it holds before it adds: its last input; null
/// where it has none.
const Input* rescale_of(const Node& reduction);

/// The nodes that need what a reduction holds before the last step, but for a factor, by node.
/// What a `tile_hold` gives is none of it.
std::vector<bool> reads_running(const Graph& graph, const KernelRoles& roles);

/// The steps of k by walk, in order: one, or two where a `tile_hold` gives what a reduction holds
/// at the end of the first. The second has the reductions that take it; what both need of a step is
/// computed in both.
std::vector<std::vector<NodeId>> kernel_walks(const Graph& graph, const KernelRoles& roles);
/// The loads of a walk: what its nodes take; of the last one also what follows the steps.
std::vector<NodeId> loads_of_walk(const Graph& graph, const KernelRoles& roles,
                                  const std::vector<std::vector<NodeId>>& walks, size_t walk);

/// Elements of a tile of a stream.
int64_t tile_elements(const Graph& graph, StreamId stream);
/// The dimension of which the cores that sum have a share each: rows where their number divides
/// them, else columns.
int shared_dim(const Graph& graph);
/// Into how many shares the cores of a cluster divide a tile of a stream: from where a
/// reduce_scatter sums over them, and loads that are taken there, of tiles with the shared
/// dimension. Else 1.
int shares_of(const Graph& graph, StreamId stream);
/// Elements of a tile that a core has.
int64_t core_elements(const Graph& graph, StreamId stream);
/// Numbers of f32 that a core sends to another one where it has `count` for it: a copy between
/// cores has a multiple of 16 bytes.
int64_t numbers_sent(int64_t count);

}  // namespace fuseflow
