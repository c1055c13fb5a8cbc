#include "sim/tiles/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/tile_kernel.h"
#include "resources/operators.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostOperations = int64_t{1} << 22;

/// One load's buffer in a core: which tile it has, and who read each of its copies.
struct LoadBuffer {
  int64_t resident = -1;
  int32_t op = -1;
  int64_t loaded = 0;
  std::vector<std::vector<int32_t>> readers;
};

/// Emits the operations of one core, tile after tile.
class CoreBuilder {
 public:
  explicit CoreBuilder(const Graph& graph)
      : g_(graph),
        roles_(kernel_roles(graph)),
        tiles_(kernel_tiles(graph)),
        element_(graph.tiles->element_bytes),
        made_(graph.streams.size(), -1),
        buffers_(graph.nodes.size()) {
    for (const NodeId n : roles_.loads) {
      buffers_[static_cast<size_t>(n)].readers.resize(static_cast<size_t>(node(n).capacity));
    }
  }

  void tile(const KernelTile& at) {
    at_ = {at.m, at.n, 0, at.g};
    accumulator_ = -1;
    const int64_t steps = roles_.reduction >= 0 ? tiles_[kKernelK] : 1;
    for (int64_t k = 0; k < steps; ++k) {
      at_[kKernelK] = k;
      for (const NodeId n : roles_.loads) load(n);
      for (const NodeId n : roles_.first_maps) compute(n);
      if (roles_.reduction >= 0) reduce();
    }
    if (roles_.reduction >= 0) consumers_.clear();
    for (const NodeId n : roles_.last_maps) compute(n);
    store();
  }

  TileOps take() { return std::move(ops_); }

 private:
  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  int32_t& made(StreamId s) { return made_[static_cast<size_t>(s)]; }

  static TileOp op_of(TileOpKind kind, NodeId n) {
    TileOp op;
    op.kind = kind;
    op.node = n;
    return op;
  }

  int32_t add(TileOp op, const std::vector<int32_t>& operands, const std::vector<int32_t>& order) {
    op.first_operand = static_cast<int32_t>(ops_.edges.size());
    op.operands = static_cast<int32_t>(operands.size());
    ops_.edges.insert(ops_.edges.end(), operands.begin(), operands.end());
    op.first_order = static_cast<int32_t>(ops_.edges.size());
    op.orders = static_cast<int32_t>(order.size());
    ops_.edges.insert(ops_.edges.end(), order.begin(), order.end());
    ops_.nodes.push_back(op);
    return static_cast<int32_t>(ops_.nodes.size()) - 1;
  }

  /// Number of the tile that a node has here, among those along the dimensions where they differ.
  int64_t number(const std::array<bool, kKernelDims>& varies) const {
    int64_t number = 0;
    for (const size_t d :
         {size_t{kKernelG}, size_t{kKernelM}, size_t{kKernelN}, size_t{kKernelK}}) {
      if (varies[d]) number = number * tiles_[d] + at_[d];
    }
    return number;
  }

  void load(NodeId n) {
    LoadBuffer& buffer = buffers_[static_cast<size_t>(n)];
    const StreamId given = node(n).outputs[0];
    const int64_t tile = number(varies_along(g_, node(n)));
    if (buffer.resident != tile) {
      TileOp op = op_of(TileOpKind::load, n);
      op.row = static_cast<int32_t>(tile);
      op.bytes.global_read = op.bytes.scratchpad_write = tile_elements(g_, given) * element_;
      std::vector<int32_t>& copy = readers(buffer, ++buffer.loaded);
      buffer.resident = tile;
      buffer.op = add(op, {}, copy);
      copy = {buffer.op};
    }
    made(given) = buffer.op;
  }

  static std::vector<int32_t>& readers(LoadBuffer& buffer, int64_t copy) {
    return buffer.readers[static_cast<size_t>(copy) % buffer.readers.size()];
  }

  /// Operands of a node; what it reads of scratchpad (loads) and registers (the others).
  std::vector<int32_t> operands(const Node& at, TileOp& op) {
    std::vector<int32_t> taken;
    for (const Input& input : at.inputs) {
      if (input.is_immediate()) continue;
      const bool loaded = producer(input.stream).kind == NodeKind::tile_load;
      const int64_t elements = tile_elements(g_, input.stream);
      (loaded ? op.bytes.scratchpad_read : op.bytes.registers) +=
          elements * (loaded ? element_ : kAccumulatorBytes);
      op.late = op.late || producer(input.stream).kind == NodeKind::tile_multiply;
      const int32_t from = made(input.stream);
      if (std::find(taken.begin(), taken.end(), from) == taken.end()) taken.push_back(from);
    }
    return taken;
  }

  const Node& producer(StreamId s) const {
    return node(g_.streams[static_cast<size_t>(s)].producer);
  }

  /// The operation `op` has read what `at` takes: loads' copies and the reduction's result.
  void took(const Node& at, int32_t op) {
    for (const Input& input : at.inputs) {
      if (input.is_immediate()) continue;
      const NodeId from = g_.streams[static_cast<size_t>(input.stream)].producer;
      if (node(from).kind == NodeKind::tile_load) {
        LoadBuffer& buffer = buffers_[static_cast<size_t>(from)];
        readers(buffer, buffer.loaded).push_back(op);
      }
      if (from == roles_.reduction) consumers_.push_back(op);
    }
  }

  void compute(NodeId n) {
    TileOp op = op_of(TileOpKind::map, n);
    const Node& at = node(n);
    const std::vector<int32_t> taken = operands(at, op);
    const int64_t elements = tile_elements(g_, at.outputs[0]);
    op.bytes.registers += elements * kAccumulatorBytes;
    const Parts parts = parts_of(at.op);
    for (size_t a = 0; a < parts.size(); ++a) {
      (a < static_cast<size_t>(Arithmetic::div) ? op.vector_ops : op.special_ops) +=
          elements * parts[a];
    }
    const int32_t made_here = add(op, taken, {});
    made(at.outputs[0]) = made_here;
    took(at, made_here);
  }

  void reduce() {
    const Node& at = node(roles_.reduction);
    const bool product = at.kind == NodeKind::tile_multiply;
    TileOp op = op_of(product ? TileOpKind::multiply : TileOpKind::map, roles_.reduction);
    std::vector<int32_t> taken = operands(at, op);
    op.bytes.registers += 2 * kAccumulatorBytes * tile_elements(g_, at.outputs[0]);
    (product ? op.flops : op.vector_ops) = kernel_flops(g_, at);
    const bool first = accumulator_ < 0;
    if (!first) taken.push_back(accumulator_);
    accumulator_ = add(op, taken, first ? consumers_ : std::vector<int32_t>{});
    made(at.outputs[0]) = accumulator_;
    took(at, accumulator_);
  }

  void store() {
    const Node& at = node(roles_.store);
    TileOp op = op_of(TileOpKind::store, roles_.store);
    const std::vector<int32_t> taken = operands(at, op);
    op.row = static_cast<int32_t>(number({true, true, false, true}));
    op.bytes.global_write = tile_elements(g_, at.inputs[0].stream) * element_;
    op.bytes.scratchpad_write += op.bytes.global_write;
    op.bytes.scratchpad_read += op.bytes.global_write;
    took(at, add(op, taken, {}));
  }

  const Graph& g_;
  const KernelRoles roles_;
  const KernelSizes tiles_;
  const int64_t element_;
  KernelSizes at_{};
  std::vector<int32_t> made_;  ///< by stream: the operation that gave its tile
  std::vector<LoadBuffer> buffers_;
  int32_t accumulator_ = -1;
  std::vector<int32_t> consumers_;  ///< of the last result of the reduction
  TileOps ops_;
};

/// Operations of all cores, at most.
int64_t operations_of(const Graph& graph) {
  const int64_t steps = kernel_roles(graph).reduction >= 0 ? kernel_tiles(graph)[kKernelK] : 1;
  int64_t operations = static_cast<int64_t>(graph.nodes.size());
  for (const int64_t factor : {kernel_tile_count(graph), steps}) {
    if (__builtin_mul_overflow(operations, factor, &operations)) return INT64_MAX;
  }
  return operations;
}

}  // namespace

int64_t kernel_tile_count(const Graph& graph) {
  const KernelSizes tiles = kernel_tiles(graph);
  return tiles[kKernelM] * tiles[kKernelN] * tiles[kKernelG];
}

KernelTile kernel_tile(const Graph& graph, int64_t number) {
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t row = number / tiles[kKernelN];
  return {row % tiles[kKernelM], number % tiles[kKernelN], row / tiles[kKernelM]};
}

std::vector<TileOps> expand_kernel(const Graph& graph, int64_t cores) {
  if (operations_of(graph) > kMostOperations) {
    throw Error(ExitCode::unfinished,
                fmt::format("a kernel of tiles exceeds {} operations", kMostOperations));
  }
  const int64_t count = kernel_tile_count(graph);
  std::vector<TileOps> result;
  for (int64_t core = 0; core < std::min(cores, count); ++core) {
    CoreBuilder builder(graph);
    for (int64_t tile = core; tile < count; tile += cores) builder.tile(kernel_tile(graph, tile));
    result.push_back(builder.take());
  }
  return result;
}

CompulsoryBytes compulsory_kernel_bytes(const Graph& graph) {
  const KernelRoles roles = kernel_roles(graph);
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t element = graph.tiles->element_bytes;
  CompulsoryBytes bytes;
  for (const NodeId n : roles.loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const std::array<bool, kKernelDims> varies = varies_along(graph, load);
    int64_t elements = tile_elements(graph, load.outputs[0]);
    for (size_t d = 0; d < varies.size(); ++d) elements *= varies[d] ? tiles[d] : 1;
    bytes.loaded += elements * element;
  }
  const Node& store = graph.nodes[static_cast<size_t>(roles.store)];
  bytes.stored = kernel_tile_count(graph) * tile_elements(graph, store.inputs[0].stream) * element;
  return bytes;
}

KernelNeed kernel_need(const Graph& graph) {
  const int64_t element = graph.tiles->element_bytes;
  KernelNeed need;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_load) {
      need.scratchpad += node.capacity * tile_elements(graph, node.outputs[0]) * element;
    } else if (node.kind == NodeKind::tile_store) {
      need.scratchpad += tile_elements(graph, node.inputs[0].stream) * element;
    } else {
      need.registers += tile_elements(graph, node.outputs[0]) * kAccumulatorBytes;
    }
  }
  return need;
}

int64_t kernel_flops(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::tile_multiply:
      return 2 * tile_elements(graph, node.outputs[0]) * kernel_block(graph)[kKernelK];
    case NodeKind::reduce:
      return tile_elements(graph, node.inputs[0].stream);
    case NodeKind::map:
      return tile_elements(graph, node.outputs[0]) * op_info(node.op).flops;
    default:
      return 0;
  }
}

}  // namespace fuseflow
