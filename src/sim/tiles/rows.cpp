#include "sim/tiles/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/rows_core.h"
#include "support/error.h"

namespace fuseflow {
namespace {

void append(OpIds& to, const OpIds& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool holds(const OpIds& ids, int32_t op) {
  return std::find(ids.begin(), ids.end(), op) != ids.end();
}

/// Emits the operations of one cluster, tile of rows after tile of rows.
class ClusterBuilder {
 public:
  ClusterBuilder(const Graph& graph, const RowsShape& shape, const std::vector<OnLanes>& work)
      : g_(graph),
        shape_(shape),
        cluster_(rows_cluster(graph)),
        element_(graph.tiles->element_bytes),
        by_threads_(loads_by_threads(graph)),
        work_(work) {
    ops_.cores = cluster_.cores();
    for (int c = 0; c < ops_.cores; ++c) cores_.emplace_back(graph, shape);
    for (const NodeId n : shape.loads) {
      varies_.resize(graph.nodes.size());
      varies_[n] = varies_along(graph, node(n));
    }
  }

  /// Row r of the cluster's cores has the tile of rows `first` + r.
  void rows(int64_t first) {
    for (int c = 0; c < ops_.cores; ++c) {
      const int64_t tile = first + c / cluster_.wide;
      core(c).at[kRowsM] = tile % g_.indices[kRowsM].extent;
      core(c).at[kRowsG] = tile / g_.indices[kRowsM].extent;
    }
    for (size_t loop = 0; loop < shape_.loops.size(); ++loop) run(static_cast<int>(loop));
  }

  TileOps take() { return std::move(ops_); }

 private:
  // --- loops -------------------------------------------------------------------------------

  void run(int number) {
    const TileLoop& loop = shape_.loops[number];
    ends_.assign(cores_.size(), {});
    const int64_t tiles = loop.index < 0 ? 1 : own_tiles(loop.index);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      first_tile_ = tile == 0;
      for (int c = 0; c < ops_.cores; ++c) {
        if (loop.index >= 0) set(c, loop.index, first_own(c, loop.index) + tile);
        ends_[c].clear();
        for (const NodeId n : loop.nodes) emit(c, n);
      }
    }
    for (const NodeId n : loop.nodes) {
      if (node(n).kind == NodeKind::reduce && index(loop.index).tiling.cluster > 1) sum_parts(n);
    }
    if (loop.index < 0) return;
    for (int c = 0; c < ops_.cores; ++c) {
      core(c).loop_before = std::move(core(c).last_loop);
      core(c).last_loop = std::move(ends_[c]);
    }
  }

  int64_t own_tiles(int width) const { return index(width).extent / index(width).tiling.cluster; }
  int64_t first_own(int c, int width) const {
    return index(width).tiling.cluster == 1 ? 0 : c % cluster_.wide * own_tiles(width);
  }
  void set(int c, int dim, int64_t tile) { core(c).at[dim] = tile; }

  void emit(int c, NodeId n) {
    switch (node(n).kind) {
      case NodeKind::tile_multiply:
        return product(c, n);
      case NodeKind::reduce:
        return reduce(c, n);
      case NodeKind::gather:
        return gather(c, n);
      case NodeKind::tile_store:
        return store(c, n);
      default:
        return map(c, n);
    }
  }

  // --- access ------------------------------------------------------------------------------

  const Node& node(NodeId n) const { return g_.nodes[n]; }
  const GraphIndex& index(int dim) const { return g_.indices[dim]; }
  RowsCore& core(int c) { return cores_[c]; }
  NodeId producer(StreamId s) const { return g_.streams[s].producer; }
  RowsRegister& registers(int c, StreamId s) { return core(c).registers[s]; }
  int64_t rows_of_tile() const { return g_.indices[kRowsM].block; }
  int place_of(StreamId s) const { return shape_.place_of[s]; }

  /// The readers of a tile of a stream in its place.
  OpIds& room(int c, StreamId s, int64_t tile) {
    const bool everywhere = node(producer(s)).kind == NodeKind::gather;
    const int64_t slot = everywhere ? tile : tile - first_own(c, rows_width(g_, s));
    return core(c).room[place_of(s)][slot];
  }
  int32_t& made(int c, StreamId s, int64_t tile) { return core(c).made[s][tile]; }
  int64_t tile_of(int c, StreamId s) { return core(c).at[rows_width(g_, s)]; }

  /// Number of the tile that a load has here.
  int64_t number(int c, const std::vector<bool>& varies) {
    int64_t number = 0;
    for (const size_t d : {size_t{kRowsG}, size_t{kRowsM}}) number = step(c, varies, d, number);
    for (size_t d = kRowsWidths; d < varies.size(); ++d) number = step(c, varies, d, number);
    return number;
  }
  int64_t step(int c, const std::vector<bool>& varies, size_t d, int64_t number) {
    return varies[d] ? number * g_.indices[d].extent + core(c).at[d] : number;
  }

  // --- operations --------------------------------------------------------------------------

  int32_t add(const TileOp& op, const OpIds& operands, const OpIds& order) {
    if (static_cast<int64_t>(ops_.nodes.size()) >= kMostTileOps) {
      throw Error(ExitCode::unfinished,
                  fmt::format("a kernel of rows exceeds {} operations", kMostTileOps));
    }
    return ops_.add(op, operands, order);
  }

  /// What an operation takes: the operations that gave it, and lists to put it into once it has a
  /// number.
  struct OperandOps {
    OpIds operands;
    std::vector<OpIds*> readers;
    OpIds drained;
    void add(int32_t op) {
      if (!holds(operands, op)) operands.push_back(op);
    }
  };

  int32_t load(int c, NodeId n, OperandOps& taken) {
    const int number_of_buffer = shape_.buffer_of[n];
    RowsBuffer& buffer = core(c).buffers[number_of_buffer];
    const int64_t tile = number(c, varies_[n]);
    RowsBuffer::Copy* copy = buffer.find({n, tile});
    if (copy == nullptr) {
      copy = &buffer.replace({n, tile});
      TileOp op = op_of(TileOpKind::load, n, c);
      op.row = static_cast<int32_t>(tile);
      op.alone = by_threads_[static_cast<size_t>(n)];
      op.bytes.load(tile_elements(g_, node(n).outputs[0]) * moved_bytes(g_, node(n)));
      copy->op = add(op, {}, copy->readers);
      copy->readers = {copy->op};
    }
    taken.readers.push_back(&copy->readers);
    return copy->op;
  }

  /// One input of a node: of scratchpad (loads and what has a place) or of registers.
  void take(int c, NodeId n, const Input& input, TileOp& op, OperandOps& taken) {
    if (input.is_immediate()) return;
    const StreamId s = input.stream;
    const NodeId from = producer(s);
    const int64_t elements = tile_elements(g_, s);
    if (node(from).kind == NodeKind::tile_load) {
      op.bytes.scratchpad_read += elements * moved_bytes(g_, node(from));
      return taken.add(load(c, from, taken));
    }
    const bool in_place = place_of(s) >= 0 && shape_.loop_of[from] != shape_.loop_of[n];
    if (in_place) {
      op.bytes.scratchpad_read += elements * element_;
      taken.readers.push_back(&room(c, s, tile_of(c, s)));
      return taken.add(made(c, s, tile_of(c, s)));
    }
    op.bytes.registers += elements * kAccumulatorBytes;
    RowsRegister& held = registers(c, s);
    append(taken.drained, held.drained);
    taken.readers.push_back(&held.at().readers);
    taken.add(held.at().op);
  }

  /// All inputs of a node. What takes a product waits for the matrix unit's pipeline, unless what
  /// it takes beside it has.
  OperandOps take_all(int c, NodeId n, TileOp& op) {
    OperandOps taken;
    for (const Input& input : node(n).inputs) take(c, n, input, op, taken);
    for (const Input& input : node(n).inputs) {
      if (input.is_immediate()) continue;
      const NodeId from = producer(input.stream);
      if (node(from).kind != NodeKind::tile_multiply || place_is_read(n, input.stream)) continue;
      const int32_t product = registers(c, input.stream).at().op;
      if (holds(taken.drained, product)) continue;
      op.late = true;
      taken.drained.push_back(product);
    }
    return taken;
  }
  bool place_is_read(NodeId n, StreamId s) const {
    return place_of(s) >= 0 && shape_.loop_of[producer(s)] != shape_.loop_of[n];
  }

  static void read_by(const OperandOps& taken, int32_t op) {
    for (OpIds* readers : taken.readers) readers->push_back(op);
  }

  /// What the first operations of a loop wait for: registers are those of two loops.
  void wait_for_loops(int c, OpIds& order) {
    if (first_tile_) append(order, core(c).loop_before);
  }

  void map(int c, NodeId n) {
    const Node& at = node(n);
    const StreamId given = at.outputs[0];
    TileOp op = op_of(TileOpKind::map, n, c);
    const OperandOps taken = take_all(c, n, op);
    op.bytes.registers += tile_elements(g_, given) * kAccumulatorBytes;
    op.lanes = work_[n].lanes;
    op.other_flops = work_[n].flops;
    OpIds order = registers(c, given).at().readers;
    wait_for_loops(c, order);
    if (place_of(given) >= 0) put_in_place(c, given, op, order);
    const int32_t id = add(op, taken.operands, order);
    read_by(taken, id);
    now_in_register(c, given, id, taken.drained);
    if (place_of(given) >= 0) now_in_place(c, given, id);
  }

  void now_in_register(int c, StreamId s, int32_t op, const OpIds& drained) {
    registers(c, s).at() = {op, {}};
    registers(c, s).drained = drained;
    ends_[c].push_back(op);
  }

  void put_in_place(int c, StreamId s, TileOp& op, OpIds& order) {
    op.bytes.scratchpad_write += tile_elements(g_, s) * element_;
    append(order, room(c, s, tile_of(c, s)));
  }
  void now_in_place(int c, StreamId s, int32_t op) {
    room(c, s, tile_of(c, s)) = {op};
    made(c, s, tile_of(c, s)) = op;
  }

  /// The tile of a product, step by step of what it sums.
  void product(int c, NodeId n) {
    const Node& at = node(n);
    const StreamId given = at.outputs[0];
    const int summed = rows_width(g_, at.inputs[0].stream);
    RowsRegister& held = registers(c, given);
    held.turn();
    OpIds order = held.at().readers;
    wait_for_loops(c, order);
    int32_t running = -1;
    for (int64_t k = 0; k < index(summed).extent; ++k) {
      set(c, summed, k);
      TileOp op = op_of(TileOpKind::multiply, n, c);
      OperandOps taken = take_all(c, n, op);
      op.multiply(rows_of_tile(), index(rows_width(g_, given)).block, index(summed).block);
      op.bytes.registers += 2 * kAccumulatorBytes * tile_elements(g_, given);
      if (running >= 0) taken.add(running);
      running = add(op, taken.operands, running < 0 ? order : OpIds{});
      read_by(taken, running);
    }
    now_in_register(c, given, running, {});
    if (place_of(given) >= 0) finish(c, n, given, given);
  }

  /// Puts the tile of a register into the place of a stream.
  void finish(int c, NodeId n, StreamId from, StreamId to) {
    RowsRegister& held = registers(c, from);
    TileOp op = op_of(TileOpKind::finish, n, c);
    op.late = node(producer(from)).kind == NodeKind::tile_multiply;
    op.bytes.registers = tile_elements(g_, from) * kAccumulatorBytes;
    OpIds order;
    put_in_place(c, to, op, order);
    const int32_t id = add(op, {held.at().op}, order);
    held.at().readers.push_back(id);
    now_in_place(c, to, id);
    ends_[c].push_back(id);
  }

  /// The core's own tile of a width to itself and to the other cores that share its rows.
  void gather(int c, NodeId n) {
    const Node& at = node(n);
    const StreamId given = at.outputs[0];
    const int64_t tile = tile_of(c, given);
    finish(c, n, at.inputs[0].stream, given);
    OpIds& own = room(c, given, tile);
    TileOp op = op_of(TileOpKind::send, n, c);
    op.rows = static_cast<int32_t>(rows_of_tile());
    op.cols = static_cast<int32_t>(index(rows_width(g_, given)).block);
    op.bytes.send((cluster_.wide - 1) * tile_elements(g_, given) * element_);
    OpIds order;
    for_peers(c, [&](int peer) { append(order, room(peer, given, tile)); });
    const int32_t id = add(op, {made(c, given, tile)}, order);
    own.push_back(id);
    for_peers(c, [&](int peer) {
      room(peer, given, tile) = {id};
      made(peer, given, tile) = id;
    });
    ends_[c].push_back(id);
  }

  template <typename Visit>
  void for_peers(int c, const Visit& visit) const {
    const int first = c - c % cluster_.wide;
    for (int peer = first; peer < first + cluster_.wide; ++peer) {
      if (peer != c) visit(peer);
    }
  }

  /// One tile more of what a reduction has so far.
  void reduce(int c, NodeId n) {
    const Node& at = node(n);
    const StreamId given = at.outputs[0];
    TileOp op = op_of(TileOpKind::map, n, c);
    OperandOps taken = take_all(c, n, op);
    op.bytes.registers += 2 * kAccumulatorBytes * tile_elements(g_, given);
    op.lanes = work_[n].lanes;
    op.other_flops = work_[n].flops;
    RowsRegister& held = registers(c, given);
    OpIds order;
    if (first_tile_) {
      order = held.at().readers;
      wait_for_loops(c, order);
    } else {
      taken.add(held.at().op);
    }
    const int32_t id = add(op, taken.operands, order);
    read_by(taken, id);
    now_in_register(c, given, id, {});
  }

  /// The cores that share rows send each other what they reduced of their tiles, and sum up.
  void sum_parts(NodeId n) {
    const StreamId given = node(n).outputs[0];
    const int64_t numbers = numbers_sent(tile_elements(g_, given));
    const int64_t bytes = numbers * kAccumulatorBytes;
    OpIds sends;
    for (int c = 0; c < ops_.cores; ++c) {
      TileOp op = op_of(TileOpKind::send, n, c);
      op.rows = static_cast<int32_t>(numbers);
      op.cols = 1;
      op.bytes.send((cluster_.wide - 1) * bytes);
      OpIds order;  // the slots of the others, which their last sums have read
      for_peers(c, [&](int peer) { append(order, sums_[{peer, n}]); });
      sends.push_back(add(op, {registers(c, given).at().op}, order));
    }
    for (int c = 0; c < ops_.cores; ++c) {
      TileOp op = op_of(TileOpKind::map, n, c);
      op.other_flops = (cluster_.wide - 1) * tile_elements(g_, given);
      op.lanes = op.other_flops * lane_work(node(n).reduction);
      op.bytes.scratchpad_read = (cluster_.wide - 1) * bytes;
      OpIds operands{registers(c, given).at().op};
      for_peers(c, [&](int peer) { operands.push_back(sends[peer]); });
      const int32_t id = add(op, operands, {sends[c]});
      sums_[{c, n}] = {id};
      now_in_register(c, given, id, {});
    }
  }

  /// What every core of a row computes the first of them stores.
  void store(int c, NodeId n) {
    const Node& at = node(n);
    const StreamId from = at.inputs[0].stream;
    const int width = rows_width(g_, from);
    const bool spread = width >= 0 && index(width).tiling.cluster > 1;
    if (!spread && c % cluster_.wide != 0) return;
    TileOp op = op_of(TileOpKind::store, n, c);
    const OperandOps taken = take_all(c, n, op);
    std::vector<bool> varies(g_.indices.size(), false);
    varies[kRowsG] = varies[kRowsM] = true;
    if (width >= 0) varies[width] = true;
    op.row = static_cast<int32_t>(number(c, varies));
    op.bytes.store(tile_elements(g_, from) * moved_bytes(g_, at));
    read_by(taken, add(op, taken.operands, {}));
  }

  const Graph& g_;
  const RowsShape& shape_;
  const RowsCluster cluster_;
  const int64_t element_;
  const std::vector<bool> by_threads_;  ///< by node, of loads
  const std::vector<OnLanes>& work_;
  std::vector<RowsCore> cores_;
  std::vector<std::vector<bool>> varies_;         ///< by node, of loads
  std::map<std::pair<int, NodeId>, OpIds> sums_;  ///< by core and reduction: its last sum
  std::vector<OpIds> ends_;                       ///< by core, of the last tile so far
  bool first_tile_ = true;
  TileOps ops_;
};

}  // namespace

std::vector<TileOps> expand_rows(const Graph& graph, int64_t clusters) {
  const RowsShape shape = rows_shape(graph);
  check_tile_numbers(graph);
  const int64_t rows = rows_cluster(graph).rows;
  const int64_t groups = rows_tiles(graph) / rows;
  const std::vector<OnLanes> work = work_on_lanes(graph);
  std::vector<TileOps> result;
  int64_t operations = 0;
  for (int64_t cluster = 0; cluster < std::min(clusters, groups); ++cluster) {
    ClusterBuilder builder(graph, shape, work);
    for (int64_t group = cluster; group < groups; group += clusters) builder.rows(group * rows);
    result.push_back(builder.take());
    operations += static_cast<int64_t>(result.back().nodes.size());
    if (operations <= kMostTileOps) continue;
    throw Error(ExitCode::unfinished,
                fmt::format("a kernel of rows exceeds {} operations", kMostTileOps));
  }
  return result;
}

}  // namespace fuseflow
