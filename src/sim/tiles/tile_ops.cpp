#include "sim/tiles/tile_ops.h"

#include <fmt/format.h>

#include "graph/tile_kernel.h"
#include "support/error.h"

namespace fuseflow {

LevelBytes& LevelBytes::operator+=(const LevelBytes& other) {
  registers += other.registers;
  scratchpad_read += other.scratchpad_read;
  scratchpad_write += other.scratchpad_write;
  link += other.link;
  global_read += other.global_read;
  global_write += other.global_write;
  l2_read += other.l2_read;
  l2_write += other.l2_write;
  l2_add += other.l2_add;
  return *this;
}

LevelBytes operator*(int64_t factor, const LevelBytes& bytes) {
  return {factor * bytes.registers, factor * bytes.scratchpad_read, factor * bytes.scratchpad_write,
          factor * bytes.link,      factor * bytes.global_read,     factor * bytes.global_write,
          factor * bytes.l2_read,   factor * bytes.l2_write,        factor * bytes.l2_add};
}

TileOp settle_after(const TileOp& store, int64_t result_bytes) {
  TileOp op = op_of(TileOpKind::settle, store.node, store.core);
  op.row = store.row;
  op.col = store.col;
  op.rows = store.rows;
  op.cols = store.cols;
  op.bytes.global_read = store.bytes.global_write;
  op.bytes.global_write = store.bytes.global_write + result_bytes;
  return op;
}

void check_tile_numbers(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_load) continue;
    const double tiles = static_cast<double>(load_tiles(graph, node)) *
                         static_cast<double>(shares_of(graph, node.outputs[0]));
    if (tiles <= INT32_MAX) continue;
    throw Error(ExitCode::unfinished,
                fmt::format("a tile_load has {} tiles, expected at most {}: take larger ones",
                            tiles, INT32_MAX));
  }
}

}  // namespace fuseflow
