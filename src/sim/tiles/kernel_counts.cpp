#include "sim/tiles/kernel_counts.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {
namespace {

/// The tiles of k that a row of a load's tiles is taken at: those of all rows of the result, and of
/// all elements of the batch, that take the same.
std::vector<TileRange> taken_along_k(const Graph& graph, const std::vector<bool>& varies, int64_t m,
                                     int64_t g) {
  if (!leaves_steps_out(graph)) return {{0, kernel_tiles(graph)[kKernelK]}};
  const int64_t rows = varies[kKernelM] ? m + 1 : kernel_tiles(graph)[kKernelM];
  const bool all_lists = walks_differ_by_batch(graph) && !varies[kKernelG];
  const int64_t elements = all_lists ? kernel_tiles(graph)[kKernelG] : g + 1;
  std::vector<TileRange> taken;
  for (int64_t e = all_lists ? 0 : g; e < elements; ++e) {
    for (int64_t row = varies[kKernelM] ? m : 0; row < rows; ++row) {
      const std::vector<TileRange> walk = kernel_walk(graph, row, e);
      taken.insert(taken.end(), walk.begin(), walk.end());
    }
  }
  std::sort(taken.begin(), taken.end(),
            [](const TileRange& a, const TileRange& b) { return a.begin < b.begin; });
  std::vector<TileRange> merged;
  for (const TileRange& range : taken) {
    if (merged.empty() || range.begin > merged.back().end) {
      merged.push_back(range);
    } else {
      merged.back().end = std::max(merged.back().end, range.end);
    }
  }
  return merged;
}

/// Bytes of registers that the nodes of a step of a walk take at a time: a tile is there until its
/// last reader, and a map may write over an operand that ends with it. What a `tile_hold` gives is
/// there anyway.
class StepRegisters {
 public:
  StepRegisters(const Graph& graph, const std::vector<NodeId>& walk) : g_(graph), walk_(walk) {
    for (const NodeId n : walk) {
      for (const Input& input : g_.nodes[n].inputs) {
        if (!input.is_immediate()) last_reader_[input.stream] = n;
      }
    }
  }

  int64_t most() {
    for (const NodeId n : walk_) step(n);
    return most_;
  }

 private:
  int64_t bytes_of(StreamId s) const { return tile_elements(g_, s) * kAccumulatorBytes; }

  void step(NodeId n) {
    const Node& node = g_.nodes[n];
    int64_t ended = 0;
    std::set<StreamId> seen;
    for (const Input& input : node.inputs) {
      if (input.is_immediate() || !made_.count(input.stream)) continue;
      if (last_reader_[input.stream] == n && seen.insert(input.stream).second) {
        ended += bytes_of(input.stream);
      }
    }
    const bool held = is_held_reduction(g_, node) || node.kind == NodeKind::tile_hold;
    const int64_t given = held ? 0 : bytes_of(node.outputs[0]);
    const bool over = node.kind == NodeKind::map;  // a product reads operands to its end
    most_ = std::max(most_, live_ + given - (over ? std::min(ended, given) : 0));
    live_ += given - ended;
    if (!held) made_.insert(node.outputs[0]);
  }

  const Graph& g_;
  const std::vector<NodeId>& walk_;
  std::map<StreamId, NodeId> last_reader_;
  std::set<StreamId> made_;  ///< in this step, on the core
  int64_t live_ = 0, most_ = 0;
};

/// Registers of a kernel of several reductions: what they hold, the tiles of the steps that are
/// under way, what follows the last step.
int64_t held_registers(const Graph& graph, const KernelRoles& roles) {
  int64_t step = 0;
  for (const std::vector<NodeId>& walk : kernel_walks(graph, roles)) {
    step = std::max(step, StepRegisters(graph, walk).most());
  }
  int64_t bytes = steps_at_a_time(graph, roles) * step;
  const auto add = [&](NodeId n) {
    for (const StreamId s : graph.nodes[n].outputs) {
      bytes += core_elements(graph, s) * kAccumulatorBytes;
    }
  };
  for (const NodeId n : roles.reductions) add(n);
  for (const NodeId n : roles.last) add(n);
  return bytes;
}

}  // namespace

int64_t steps_at_a_time(const Graph& graph, const KernelRoles& roles) {
  int64_t steps = 1;
  for (const NodeId n : roles.steps) {
    const Node& node = graph.nodes[n];
    if (node.kind == NodeKind::tile_multiply) steps = std::max(steps, node.capacity);
  }
  return steps;
}

std::vector<int64_t> walked_tiles(const Graph& graph, const Node& load) {
  const std::vector<bool> varies = varies_along(graph, load);
  const KernelSizes tiles = kernel_tiles(graph);
  const auto along = [&](KernelDim d) { return varies[d] ? tiles[d] : 1; };
  const int64_t shares = shares_of(graph, load.outputs[0]);
  std::vector<int64_t> numbers;
  for (int64_t g = 0; g < along(kKernelG); ++g) {
    for (int64_t m = 0; m < along(kKernelM); ++m) {
      std::vector<TileRange> taken{{0, 1}};
      if (varies[kKernelK]) taken = taken_along_k(graph, varies, m, g);
      for (int64_t n = 0; n < along(kKernelN); ++n) {
        const int64_t before = (g * along(kKernelM) + m) * along(kKernelN) + n;
        for (const TileRange& range : taken) {
          const int64_t first = before * along(kKernelK);
          for (int64_t share = (first + range.begin) * shares; share < (first + range.end) * shares;
               ++share) {
            numbers.push_back(share);
          }
        }
      }
    }
  }
  return numbers;
}

TilesPresent tiles_present(const Graph& graph) {
  const NodeId load = load_of_absent_tiles(graph);
  if (load < 0) return {};
  const Node& operand = graph.nodes[load];
  return {static_cast<int64_t>(walked_tiles(graph, operand).size()), load_tiles(graph, operand)};
}

int64_t stored_bytes(const Graph& graph, const Node& store) {
  const int64_t bytes = moved_bytes(graph, store);
  return adding_clusters(graph) > 1 ? added_bytes(bytes) : bytes;
}

int64_t sent_elements(const Graph& graph, const Node& exchange) {
  const int64_t elements = core_elements(graph, exchange.outputs[0]);
  return exchange.kind == NodeKind::all_reduce ? numbers_sent(elements) : elements;
}

int64_t exchanged_bytes(const Graph& graph, const Node& exchange) {
  return (summing_cores(graph) - 1) * sent_elements(graph, exchange) * kAccumulatorBytes;
}

KernelNeed kernel_need(const Graph& graph) {
  const KernelRoles roles = kernel_roles(graph);
  KernelNeed need;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_load) {
      const bool packed = gathered_step(graph) > 0 && varies_along(graph, node)[kKernelK];
      const int64_t tiles = node.capacity * (packed ? gathered_step(graph) : 1);
      need.scratchpad += tiles * core_elements(graph, node.outputs[0]) * moved_bytes(graph, node);
    } else if (node.kind == NodeKind::tile_store) {
      need.scratchpad += core_elements(graph, node.inputs[0].stream) * stored_bytes(graph, node);
    } else if (!roles.held()) {
      need.registers += core_elements(graph, node.outputs[0]) * kAccumulatorBytes;
    }
  }
  for (const NodeId n : roles.exchanges) {
    need.scratchpad += exchanged_bytes(graph, graph.nodes[n]);
  }
  if (roles.held()) need.registers = held_registers(graph, roles);
  return need;
}

ProductExtents product_extents(const Graph& graph, const Node& product) {
  const bool held = is_held_reduction(graph, product);
  const auto summed = static_cast<size_t>(held                                ? kKernelK
                                          : is_second_product(graph, product) ? kKernelN
                                                                              : kKernelL);
  const int64_t packed = held ? std::max<int64_t>(gathered_step(graph), 1) : 1;
  const std::vector<int>& dims = graph.streams[product.outputs[0]].block;
  ProductExtents extents;
  extents.rows = graph.indices[dims.front()].block;
  extents.columns = tile_elements(graph, product.outputs[0]) / extents.rows;
  extents.depth = graph.indices[summed].block * packed;
  return extents;
}

LaneWork kernel_lanes(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::reduce) {
    return tile_elements(graph, node.inputs[0].stream) * lane_work(node.reduction);
  }
  const int64_t elements = core_elements(graph, node.outputs[0]);
  if (is_exchange(node)) {
    return (summing_cores(graph) - 1) * elements * lane_work(node.reduction);
  }
  // A coordinate is the sum of where its tile begins and where the element is in it.
  if (node.kind == NodeKind::tile_coordinate) return {.vector = elements};
  return elements * lane_work(node.op);
}

namespace {

/// FLOPs of one operation of a node, but for rescaling.
int64_t kernel_flops(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::tile_multiply: {
      const ProductExtents extents = product_extents(graph, node);
      return 2 * extents.rows * extents.columns * extents.depth;
    }
    case NodeKind::reduce:
      return tile_elements(graph, node.inputs[0].stream);
    case NodeKind::map:
      return core_elements(graph, node.outputs[0]) * op_info(node.op).flops;
    case NodeKind::reduce_scatter:
    case NodeKind::all_reduce:
      return (summing_cores(graph) - 1) * core_elements(graph, node.outputs[0]);
    default:
      return 0;
  }
}

}  // namespace

std::vector<OnLanes> work_on_lanes(const Graph& graph) {
  std::vector<OnLanes> work(graph.nodes.size());
  for (size_t n = 0; n < work.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool on_lanes = node.kind == NodeKind::map || node.kind == NodeKind::reduce ||
                          node.kind == NodeKind::tile_coordinate || is_exchange(node);
    if (on_lanes) work[n] = {kernel_lanes(graph, node), kernel_flops(graph, node)};
  }
  return work;
}

}  // namespace fuseflow
