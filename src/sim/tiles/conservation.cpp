#include "sim/tiles/conservation.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow {
namespace {

constexpr double kRounding = 1e-6;  ///< of the product of a rate and a number of cycles

/// Bytes of an element that a send of a node passes on: of a part of a sum, of a tile that was
/// loaded, or of one that is held.
int64_t sent_bytes(const Graph& graph, const Node& node) {
  const bool part =
      node.kind == NodeKind::reduce || node.kind == NodeKind::exchange || is_exchange(node);
  if (part) return kAccumulatorBytes;
  return node.kind == NodeKind::tile_load ? moved_bytes(graph, node) : graph.tiles->element_bytes;
}

/// What a core takes from the scratchpads of others of a tile that it finished: what it did not
/// keep itself.
int64_t fetched(const TileOps& ops, const TileOp& op, int64_t element_bytes) {
  const LevelBytes& kept = ops.nodes[ops.edges[op.first_operand]].bytes;
  return int64_t{op.rows} * op.cols * element_bytes - kept.registers - kept.scratchpad_write -
         kept.global_write;
}

}  // namespace

std::optional<std::string> exceeded_rate(const WorkDone& core, int64_t cycles,
                                         int64_t element_bytes, int cluster_cores,
                                         const Machine& machine) {
  struct Rate {
    const char* what;
    double amount;
    double a_cycle;  // 0: free
  };
  const std::array<Rate, 6> rates{
      Rate{"FLOPs of a matrix unit", static_cast<double>(core.flops),
           machine.matrix_rate(element_bytes)},
      Rate{"sums of vector lanes", in_sums(core.lanes, machine),
           machine.core.vector_operations_per_cycle},
      Rate{"special operations", static_cast<double>(core.lanes.special),
           machine.core.special_operations_per_cycle},
      Rate{"bytes of a port", static_cast<double>(core.port_bytes),
           machine.core.port_bytes_per_cycle},
      Rate{"bytes of a scratchpad", static_cast<double>(core.scratchpad_bytes),
           machine.core.scratchpad_bytes_per_cycle},
      Rate{"bytes of a link", static_cast<double>(core.link_bytes),
           machine.link_bytes_per_cycle(cluster_cores)}};
  for (const Rate& rate : rates) {
    const double most = rate.a_cycle * static_cast<double>(cycles) * (1 + kRounding);
    if (rate.a_cycle > 0 && rate.amount > most) {
      return fmt::format("{:.0f} {} in {} cycles, expected at most {:.0f}", rate.amount, rate.what,
                         cycles, most);
    }
  }
  return std::nullopt;
}

LinkBytes link_bytes_of(const TileOps& ops, const Graph& graph) {
  static_assert(kLargestCluster <= 16);
  LinkBytes bytes;
  std::vector<uint16_t> took(ops.nodes.size(),
                             0);  // of what is sent: the cores that have it, as bits
  for (const TileOp& op : ops.nodes) {
    bytes.sent += op.bytes.link;
    if (op.kind == TileOpKind::fetch) {
      bytes.received += fetched(ops, op, graph.tiles->element_bytes);
    }
    for (int32_t i = op.first_operand; i < op.first_operand + op.operands; ++i) {
      const int32_t id = ops.edges[i];
      const TileOp& from = ops.nodes[id];
      const uint32_t core = 1U << op.core;
      if (from.kind != TileOpKind::send || from.core == op.core || (took[id] & core) != 0) continue;
      took[id] = static_cast<uint16_t>(took[id] | core);
      bytes.received += int64_t{from.rows} * from.cols * sent_bytes(graph, graph.nodes[from.node]);
    }
  }
  return bytes;
}

CompulsoryBytes compulsory_bytes(const Graph& graph) {
  const bool leaves_out = is_tile_kernel(graph) && leaves_steps_out(graph);
  CompulsoryBytes bytes;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_load) {
      const bool parts = leaves_out && varies_along(graph, node)[kKernelK];
      const int64_t tiles =
          parts ? static_cast<int64_t>(walked_tiles(graph, node).size()) : load_tiles(graph, node);
      bytes.loaded += tiles * tile_elements(graph, node.outputs[0]) * moved_bytes(graph, node);
    } else if (node.kind == NodeKind::tile_store) {
      const StreamId from = node.inputs[0].stream;
      int64_t tiles =
          tile_form(graph) == TileForm::chain ? 1 : graph.indices[batch_dim(graph)].extent;
      for (const int dim : graph.streams[from].block) tiles *= graph.indices[dim].extent;
      bytes.stored += tiles * tile_elements(graph, from) * moved_bytes(graph, node);
    }
  }
  return bytes;
}

std::optional<std::string> broken_memory_law(const LevelBytes& moved, const CompulsoryBytes& least,
                                             bool has_l2) {
  if (moved.global_read < least.loaded || moved.global_write < least.stored) {
    return fmt::format("{} bytes are loaded and {} stored, but all tiles once are {} and {}",
                       moved.global_read, moved.global_write, least.loaded, least.stored);
  }
  // What is added to sums that an L2 does not hold, it takes from memory first.
  const int64_t asked = moved.l2_read + moved.l2_add;
  if (has_l2 && (asked < moved.global_read || moved.l2_write < moved.global_write)) {
    return fmt::format(
        "an L2 takes {} bytes from memory and gives {} to it, but cores take {} from "
        "the L2, add {} and give {} to it",
        moved.global_read, moved.global_write, moved.l2_read, moved.l2_add, moved.l2_write);
  }
  return std::nullopt;
}

}  // namespace fuseflow
