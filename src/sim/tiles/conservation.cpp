#include "sim/tiles/conservation.h"

#include <fmt/format.h>

#include <array>

#include "graph/tiles.h"
namespace fuseflow {
namespace {

constexpr double kRounding = 1e-6;  ///< of the product of a rate and a number of cycles

const TileOp& operand(const TileOps& ops, const TileOp& op, int32_t number) {
  const int32_t id = ops.edges[static_cast<size_t>(op.first_operand) + static_cast<size_t>(number)];
  return ops.nodes[id];
}

int64_t elements(const TileOp& op) {
  return int64_t{op.rows} * op.cols;
}

/// What an operation takes from the scratchpads of other cores.
int64_t received(const TileOps& ops, const TileOp& op, int64_t element_bytes, int64_t branches) {
  if (op.kind == TileOpKind::fetch) {  // what the core itself did not keep
    const LevelBytes& kept = operand(ops, op, 0).bytes;
    return elements(op) * element_bytes - kept.registers - kept.scratchpad_write -
           kept.global_write;
  }
  int64_t bytes = 0;
  for (int32_t i = 0; i < op.operands; ++i) {
    const TileOp& from = operand(ops, op, i);
    if (from.kind != TileOpKind::send || from.core == op.core) continue;
    switch (op.kind) {
      case TileOpKind::sum:
        bytes += elements(op) * kAccumulatorBytes * branches;
        break;
      case TileOpKind::reduce:
        bytes += elements(op) * kAccumulatorBytes;
        break;
      case TileOpKind::finish:
      case TileOpKind::multiply:
        bytes += elements(from) * element_bytes;
        break;
      default:
        break;
    }
  }
  return bytes;
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
  const int64_t branches = graph.tiles->way == GatedWay::sequential ? 2 : 1;
  LinkBytes bytes;
  for (const TileOp& op : ops.nodes) {
    bytes.sent += op.bytes.link;
    bytes.received += received(ops, op, graph.tiles->element_bytes, branches);
  }
  return bytes;
}

CompulsoryBytes compulsory_bytes(const Graph& graph) {
  const TileRoles roles = tile_roles(graph);
  const Extents size = tile_geometry(graph).padded;
  const int64_t m = size[Dim::m], n = size[Dim::n], k = size[Dim::k], l = size[Dim::l];
  const auto bytes_of = [&](NodeId node) { return moved_bytes(graph, graph.nodes[node]); };
  int64_t loaded = m * k * bytes_of(roles.a) + n * l * bytes_of(roles.d);
  for (int branch = 0; branch < roles.branches; ++branch) {
    loaded += k * n * bytes_of(roles.b[branch]);
  }
  for (const NodeId load : roles.first_loads) loaded += n * bytes_of(load);
  for (const NodeId load : roles.last_loads) {
    const StreamId given = graph.nodes[load].outputs[0];
    const bool vector = graph.streams[given].block.size() == 1;
    loaded += (vector ? l : m * l) * bytes_of(load);
  }
  return {loaded, m * l * bytes_of(roles.store)};
}

std::optional<std::string> broken_memory_law(const LevelBytes& moved, const CompulsoryBytes& least,
                                             bool has_l2) {
  if (moved.global_read < least.loaded || moved.global_write < least.stored) {
    return fmt::format("{} bytes are loaded and {} stored, but all tiles once are {} and {}",
                       moved.global_read, moved.global_write, least.loaded, least.stored);
  }
  if (has_l2 && (moved.l2_read < moved.global_read || moved.l2_write < moved.global_write)) {
    return fmt::format(
        "an L2 takes {} bytes from memory and gives {} to it, but cores take {} from "
        "the L2 and give {} to it",
        moved.global_read, moved.global_write, moved.l2_read, moved.l2_write);
  }
  return std::nullopt;
}

}  // namespace fuseflow
