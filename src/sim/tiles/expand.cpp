#include "sim/tiles/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/tiles/load_buffer.h"
#include "support/error.h"

namespace fuseflow {
namespace {

struct CoreState {
  LoadBuffer a, b, d;
  /// Receive slots of the ring: consumers of what arrived, so that none is overwritten too early.
  std::vector<std::vector<int32_t>> ring;
  std::vector<int32_t> slices;         ///< of the other cores, by round from 1 on, where they stay
  int32_t c_accumulator_free = kNone;  ///< node after which C may be accumulated again
  std::array<int32_t, 2> e_accumulator_free{kNone, kNone};  ///< the one freed next is first
  int32_t e_accumulator = kNone;                            ///< newest partial E in the accumulator
  std::vector<int32_t> c_held, e_held;
  std::vector<std::vector<int32_t>> c_uses;  ///< readers of each held C tile
};

/// Walks the loops of one cluster and emits the nodes of all its cores.
class Builder {
 public:
  Builder(const Graph& graph, bool epilogue)
      : source_(graph),
        roles_(tile_roles(graph)),
        geometry_(tile_geometry(graph)),
        shape_(geometry_.shape),
        way_(graph.tiles->way),
        element_(graph.tiles->element_bytes),
        slices_stay_(slices_stay(graph, roles_)),
        by_threads_(loads_by_threads(graph)),
        epilogue_(epilogue) {
    m_ = geometry_.tile[Dim::m];
    n_ = geometry_.tile[Dim::n];
    k_ = geometry_.tile[Dim::k];
    l_ = geometry_.tile[Dim::l];
    sent_ = communicate(shape_, way_, m_ * n_, m_ * l_);
    c_placed_ = held_bytes(source(roles_.hold));
    e_placed_ = held_bytes(source(roles_.second));
    for (const NodeId map : roles_.first_maps) c_lanes_ += lane_work(source(map).op);
    for (const NodeId map : roles_.last_maps) e_lanes_ += lane_work(source(map).op);
    graph_.cores = shape_.cores();
    cores_.resize(static_cast<size_t>(graph_.cores));
    exchanged_ = reduced_ = std::vector<int32_t>(cores_.size(), kNone);
    for (CoreState& core : cores_) {
      core.c_held.assign(static_cast<size_t>(geometry_.c_tiles_held), kNone);
      core.c_uses.resize(core.c_held.size());
      core.ring.resize(static_cast<size_t>(slices_stay_ ? source(roles_.shuffle).capacity
                                                        : slice_slots(shape_)));
      core.slices.assign(static_cast<size_t>(shape_.shuffle()), kNone);
      core.a = core.b = core.d = LoadBuffer(source(roles_.a).capacity);
      core.e_held.assign(static_cast<size_t>(geometry_.e_tiles_held), kNone);
    }
  }

  TileOps build() {
    loop(0);
    return std::move(graph_);
  }

 private:
  // --- loops -------------------------------------------------------------------------------

  void loop(int depth) {
    const std::vector<Dim>& loops = source_.tiles->loops;
    if (depth == static_cast<int>(loops.size())) {
      step();
      return;
    }
    const Dim dim = loops[depth];
    if (dim == Dim::k) {  // runs inside the first product
      loop(depth + 1);
      return;
    }
    for (at_[dim] = 0; at_[dim] < trips()[dim]; ++at_[dim]) {
      loop(depth + 1);
    }
    at_[dim] = 0;
  }

  const Extents& trips() const { return geometry_.temporal; }

  void step() {
    if (at_[Dim::l] == 0) {
      make_c();
    }
    use_c();
    const bool last_n = at_[Dim::n] == trips()[Dim::n] - 1;
    if (last_n) {
      finish_e();
    } else if (geometry_.e_tiles_held > 1) {
      spill_e();
    }
  }

  const Node& source(NodeId node) const { return source_.nodes[node]; }

  bool inside(Dim dim, Dim of) const {
    return tile_loop_depth(*source_.tiles, dim) > tile_loop_depth(*source_.tiles, of);
  }

  /// Position of the current tile among those held for reuse over `reuse`.
  size_t slot(Dim reuse, Dim other) const {
    if (trips()[reuse] == 1) {
      return 0;
    }
    int64_t at = 0;
    for (const Dim dim : {Dim::m, other}) {
      if (inside(dim, reuse)) {
        at = at * trips()[dim] + at_[dim];
      }
    }
    return static_cast<size_t>(at);
  }

  // --- cores -------------------------------------------------------------------------------

  int core_at(int im, int in, int ik) const { return (im * shape_.n + in) * shape_.k + ik; }
  int m_of(int core) const { return core / (shape_.n * shape_.k); }
  int n_of(int core) const { return core / shape_.k % shape_.n; }
  int k_of(int core) const { return core % shape_.k; }
  int in_group(int core) const { return n_of(core) % shape_.shuffle(); }
  int group(int core) const { return n_of(core) / shape_.shuffle(); }
  int l_of(int core) const { return in_group(core) * shape_.k + k_of(core); }
  CoreState& state(int core) { return cores_[core]; }

  int64_t offset(Dim dim, int64_t block) const {
    return (at_[dim] * shape_.along(dim) + block) * geometry_.tile[dim];
  }
  int64_t row_m(int core) const { return offset(Dim::m, m_of(core)); }

  // --- nodes -------------------------------------------------------------------------------

  template <typename Operands = std::initializer_list<int32_t>,
            typename Order = std::initializer_list<int32_t>>
  int32_t add(const TileOp& op, const Operands& operands, const Order& order = {}) {
    if (static_cast<int64_t>(graph_.nodes.size()) >= kMostTileOps) {
      throw Error(ExitCode::unfinished,
                  fmt::format("the tile graph of a cluster exceeds {} nodes", kMostTileOps));
    }
    return graph_.add(op, operands, order);
  }

  static TileOp node(TileOpKind kind, NodeId of, int core, int64_t rows, int64_t cols) {
    TileOp result = op_of(kind, of, core);
    result.rows = static_cast<int32_t>(rows);
    result.cols = static_cast<int32_t>(cols);
    return result;
  }

  TileOp load_node(NodeId of, int core, int64_t row, int64_t col, int64_t rows,
                   int64_t cols) const {
    TileOp result = node(TileOpKind::load, of, core, rows, cols);
    result.row = static_cast<int32_t>(row);
    result.col = static_cast<int32_t>(col);
    result.alone = by_threads_[static_cast<size_t>(of)];
    result.bytes.load(rows * cols * moved_bytes(source_, source(of)));
    return result;
  }

  /// The tile in `buffer`, loading it when another is there.
  int32_t buffered(LoadBuffer& buffer, const TileOp& load) {
    return buffer.get({load.node, load.row, load.col},
                      [&](const std::vector<int32_t>& room) { return add(load, {}, room); });
  }

  // --- the first product -------------------------------------------------------------------

  void make_c() {
    std::vector<std::vector<int32_t>> partial(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      const bool both = way_ == GatedWay::sequential;
      for (int branch = 0; branch < (both ? 2 : 1); ++branch) {
        const int which = way_ == GatedWay::split ? k_of(core) : branch;
        partial[core].push_back(accumulate_c(core, which));
      }
    }
    if (shape_.k == 1) {
      for (int core = 0; core < graph_.cores; ++core) {
        auto operands = partial[core];
        append_bias(core, operands);
        state(core).c_accumulator_free = finish_c(core, operands, true);
      }
    } else {
      exchange(partial);
    }
  }

  int32_t accumulate_c(int core, int branch) {
    CoreState& s = state(core);
    const int64_t k_block = way_ == GatedWay::split ? 0 : k_of(core);
    const int64_t k_blocks = way_ == GatedWay::split ? 1 : shape_.k;
    int32_t accumulator = kNone;
    for (int64_t step = 0; step < trips()[Dim::k]; ++step) {
      const int64_t at_k = (step * k_blocks + k_block) * k_;
      const int32_t a = buffered(s.a, load_node(roles_.a, core, row_m(core), at_k, m_, k_));
      const auto of = static_cast<size_t>(branch);
      const TileOp b_load = load_node(roles_.b[of], core, at_k, offset(Dim::n, n_of(core)), k_, n_);
      const int32_t b = buffered(s.b, b_load);
      TileOp product = node(TileOpKind::multiply, roles_.product[of], core, m_, n_);
      product.multiply(m_, n_, k_);
      product.bytes.scratchpad_read = m_ * k_ * moved_bytes(source_, source(roles_.a)) +
                                      k_ * n_ * moved_bytes(source_, source(roles_.b[of]));
      product.bytes.registers = 2 * kAccumulatorBytes * m_ * n_;
      const int32_t before = accumulator == kNone ? s.c_accumulator_free : kNone;
      accumulator = add(product, {a, b, accumulator}, {before});
      s.a.users() = s.b.users() = {accumulator};
    }
    return accumulator;
  }

  /// The vectors over N that the maps of C take.
  void append_bias(int core, std::vector<int32_t>& operands) {
    for (const NodeId of : roles_.first_loads) {
      TileOp bias = load_node(of, core, 0, offset(Dim::n, n_of(core)), 1, n_);
      bias.bytes.scratchpad_read = bias.bytes.global_read;
      operands.push_back(add(bias, {}));
    }
  }

  void exchange(const std::vector<std::vector<int32_t>>& partial) {
    std::vector<int32_t> sends, sums, gathers;
    for (int core = 0; core < graph_.cores; ++core) {
      const auto branches = static_cast<int64_t>(partial[core].size());
      TileOp send = node(TileOpKind::send, roles_.exchange, core, m_ / shape_.k * branches, n_);
      send.late = true;
      send.bytes.send(sent_.exchange_partial * kAccumulatorBytes);
      std::vector<int32_t> free = of_group(exchange_group(core), exchanged_);
      free[k_of(core)] = kNone;  // the others'
      sends.push_back(add(send, partial[core], free));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      TileOp sum = node(TileOpKind::sum, roles_.exchange, core, m_ / shape_.k, n_);
      const int64_t branches = static_cast<int64_t>(partial[core].size());
      const int64_t sums_of_one = way_ == GatedWay::split ? 0 : (shape_.k - 1) * branches;
      sum.lanes = m_ / shape_.k * n_ * (LaneWork{.vector = sums_of_one} += c_lanes_);
      sum.other_flops = m_ / shape_.k * n_ * sums_of_one;
      std::vector<int32_t> operands = of_group(exchange_group(core), sends);
      append_bias(core, operands);
      sums.push_back(add(sum, operands));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      state(core).c_accumulator_free = sums[core];
      TileOp gather = node(TileOpKind::send, roles_.gather, core, m_ / shape_.k, n_);
      gather.bytes.send(sent_.exchange_gather * element_);
      gathers.push_back(add(gather, {sums[core]}));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      finish_c(core, of_group(exchange_group(core), gathers), false);
    }
    exchanged_ = std::move(sums);
  }

  /// Cores with the same tile of C, by their part of K.
  std::vector<int> exchange_group(int core) const {
    std::vector<int> cores;
    for (int ik = 0; ik < shape_.k; ++ik) cores.push_back(core_at(m_of(core), n_of(core), ik));
    return cores;
  }

  /// Those of operations by core that these cores did.
  static std::vector<int32_t> of_group(const std::vector<int>& cores,
                                       const std::vector<int32_t>& by_core) {
    std::vector<int32_t> ops;
    for (const int core : cores) ops.push_back(by_core[core]);
    return ops;
  }

  /// Bytes of the held tile `slot` of `bytes` bytes that each level keeps.
  static HeldBytes part_of(const HeldBytes& whole, size_t slot, int64_t bytes) {
    int64_t from = static_cast<int64_t>(slot) * bytes;
    int64_t left = bytes;
    const auto take = [&](int64_t level) {
      const int64_t taken = std::clamp<int64_t>(level - from, 0, left);
      from = std::max<int64_t>(from - level, 0);
      left -= taken;
      return taken;
    };
    HeldBytes part;
    part.registers = take(whole.registers);
    part.scratchpad = take(whole.scratchpad);
    part.links = take(whole.links);
    part.global = left;
    return part;
  }

  HeldBytes c_part() const { return part_of(c_placed_, slot(Dim::l, Dim::n), m_ * n_ * element_); }

  int32_t finish_c(int core, const std::vector<int32_t>& operands, bool activates) {
    CoreState& s = state(core);
    const size_t at = slot(Dim::l, Dim::n);
    TileOp put = node(TileOpKind::finish, roles_.hold, core, m_, n_);
    put.late = activates;
    if (activates) put.lanes = m_ * n_ * c_lanes_;
    const HeldBytes part = c_part();
    put.bytes.registers = part.registers;
    put.bytes.scratchpad_write = part.scratchpad;
    put.bytes.global_write = part.global;
    s.c_held[at] = add(put, operands, s.c_uses[at]);
    s.c_uses[at].clear();
    return s.c_held[at];
  }

  // --- the second product ------------------------------------------------------------------

  /// C of this core as an operand, fetched when part of it is elsewhere.
  int32_t own_slice(int core) {
    CoreState& s = state(core);
    const size_t at = slot(Dim::l, Dim::n);
    const HeldBytes part = c_part();
    if (part.links == 0 && part.global == 0) {
      return s.c_held[at];
    }
    TileOp fetch = node(TileOpKind::fetch, roles_.hold, core, m_, n_);
    fetch.bytes.send(part.links);
    fetch.bytes.load(part.global);
    const int32_t fetched = add(fetch, {s.c_held[at]});
    s.c_uses[at].push_back(fetched);
    return fetched;
  }

  void use_c() {
    begin_e();
    std::vector<int32_t> slices(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      slices[core] = own_slice(core);
      multiply_e(core, slices[core], 0);
    }
    const bool are_here = slices_stay_ && at_[Dim::l] > 0;
    for (int round = 1; round < shape_.shuffle(); ++round) {
      std::vector<int32_t> next(cores_.size());
      for (int core = 0; core < graph_.cores; ++core) {
        int32_t& slice = state(core).slices[static_cast<size_t>(round)];
        if (!are_here) slice = pass_on(core, slices, round);
        next[core] = slice;
      }
      for (int core = 0; core < graph_.cores; ++core) {
        multiply_e(core, next[core], round);
      }
      slices = next;
    }
    if (!slices_stay_) received_ += shape_.shuffle() - 1;
  }

  /// Core receives, from the next one of its ring, the slice that one had in the round before.
  int32_t pass_on(int core, const std::vector<int32_t>& slices, int round) {
    const int ring = shape_.shuffle();
    const int from_n = group(core) * ring + (in_group(core) + 1) % ring;
    const int from = core_at(m_of(core), from_n, k_of(core));
    std::vector<int32_t>& slot_users = ring_slot(core, round);
    TileOp send = node(TileOpKind::send, roles_.shuffle, from, m_, n_);
    send.bytes.send(m_ * n_ * element_);
    const int32_t sent = add(send, {slices[from]}, slot_users);
    slot_users.clear();
    slice_users(from, round - 1).push_back(sent);
    return sent;
  }

  /// Readers of the receive slot that a round's slice arrives in.
  std::vector<int32_t>& ring_slot(int core, int round) {
    std::vector<std::vector<int32_t>>& ring = state(core).ring;
    return ring[static_cast<size_t>(received_ + round) % ring.size()];
  }

  /// Readers of the slice that a core works on in a round: its own first, then received ones.
  std::vector<int32_t>& slice_users(int core, int round) {
    return round == 0 ? state(core).c_uses[slot(Dim::l, Dim::n)] : ring_slot(core, round);
  }

  void multiply_e(int core, int32_t slice, int round) {
    CoreState& s = state(core);
    const int64_t slice_n =
        group(core) * shape_.shuffle() + (in_group(core) + round) % shape_.shuffle();
    const int32_t d = buffered(s.d, load_node(roles_.d, core, offset(Dim::n, slice_n),
                                              offset(Dim::l, l_of(core)), n_, l_));
    TileOp product = node(TileOpKind::multiply, roles_.second, core, m_, l_);
    const int64_t in_registers = round == 0 ? c_part().registers : 0;
    product.multiply(m_, l_, n_);
    product.bytes.registers = 2 * kAccumulatorBytes * m_ * l_ + in_registers;
    product.bytes.scratchpad_read =
        m_ * n_ * element_ + n_ * l_ * moved_bytes(source_, source(roles_.d)) - in_registers;
    const int32_t free = s.e_accumulator == kNone ? s.e_accumulator_free[0] : kNone;
    s.e_accumulator = add(product, {slice, d, s.e_accumulator}, {free});
    s.d.users() = {s.e_accumulator};
    slice_users(core, round).push_back(s.e_accumulator);
  }

  // --- partial and finished E --------------------------------------------------------------

  TileOp e_moved(TileOpKind kind, int core) const {
    const HeldBytes part = part_of(e_placed_, slot(Dim::n, Dim::l), m_ * l_ * kAccumulatorBytes);
    TileOp result = node(kind, roles_.second, core, m_, l_);
    result.bytes.registers = part.registers;
    if (kind == TileOpKind::spill) {
      result.late = true;
      result.bytes.scratchpad_write = part.scratchpad;
      result.bytes.global_write = part.global;
    } else {
      result.bytes.scratchpad_read = part.scratchpad;
      result.bytes.global_read = part.global;
    }
    return result;
  }

  void begin_e() {
    if (geometry_.e_tiles_held == 1) {
      return;  // the accumulator keeps it, or it begins empty
    }
    for (int core = 0; core < graph_.cores; ++core) {
      CoreState& s = state(core);
      s.e_accumulator = kNone;
      if (at_[Dim::n] > 0) {
        s.e_accumulator = add(e_moved(TileOpKind::refill, core), {s.e_held[slot(Dim::n, Dim::l)]},
                              {s.e_accumulator_free[0]});
      }
    }
  }

  void spill_e() {
    for (int core = 0; core < graph_.cores; ++core) {
      CoreState& s = state(core);
      const int32_t put = add(e_moved(TileOpKind::spill, core), {s.e_accumulator});
      s.e_held[slot(Dim::n, Dim::l)] = put;
      release_e(s, put);
      s.e_accumulator = kNone;
    }
  }

  /// `by` is the last to read the accumulator in use; with two, the next E tile takes the other.
  void release_e(CoreState& s, int32_t by) {
    if (source(roles_.second).capacity == 2) {
      std::swap(s.e_accumulator_free[0], s.e_accumulator_free[1]);
      s.e_accumulator_free[1] = by;
    } else {
      s.e_accumulator_free[0] = by;
    }
  }

  void finish_e() {
    const int share_count = shape_.reduce();
    std::vector<int32_t> finished(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      finished[core] = state(core).e_accumulator;
    }
    if (share_count > 1) {
      reduce_scatter(finished);
    }
    for (int core = 0; core < graph_.cores; ++core) {
      const int32_t stored = store_e(core, finished[core]);
      release_e(state(core), share_count > 1 ? finished[core] : stored);
      state(core).e_accumulator = kNone;
    }
  }

  void reduce_scatter(std::vector<int32_t>& finished) {
    std::vector<int32_t> sends;
    for (int core = 0; core < graph_.cores; ++core) {
      TileOp send = node(TileOpKind::send, roles_.scatter, core, m_ / shape_.reduce(), l_);
      send.late = true;
      send.bytes.send(sent_.reduce_scatter * kAccumulatorBytes);
      sends.push_back(add(send, {finished[core]}, of_group(reduce_group(core), reduced_)));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      TileOp sum = node(TileOpKind::reduce, roles_.scatter, core, m_ / shape_.reduce(), l_);
      sum.lanes.vector = (shape_.reduce() - 1) * (m_ / shape_.reduce()) * l_;
      sum.other_flops = sum.lanes.vector;
      finished[core] = add(sum, of_group(reduce_group(core), sends));
    }
    reduced_ = finished;
  }

  /// Cores with the same (M, L) tile, by group: they hold different partial sums of it.
  std::vector<int> reduce_group(int core) const {
    std::vector<int> cores;
    for (int g = 0; g < shape_.reduce(); ++g) {
      cores.push_back(core_at(m_of(core), g * shape_.shuffle() + in_group(core), k_of(core)));
    }
    return cores;
  }

  int32_t store_e(int core, int32_t tile) {
    const int64_t rows = m_ / shape_.reduce();
    const int64_t row = row_m(core) + group(core) * rows;
    const int64_t col = offset(Dim::l, l_of(core));
    std::vector<int32_t> operands = {tile};
    for (const NodeId of : epilogue_ ? roles_.last_loads : std::vector<NodeId>{}) {
      const Stream& given = source_.streams[source(of).outputs[0]];
      const bool row_of_l = given.block.size() == 1;
      operands.push_back(epilogue_load(of, core, row_of_l ? 0 : row, col, row_of_l ? 1 : rows));
    }
    TileOp store = node(TileOpKind::store, roles_.store, core, rows, l_);
    store.row = static_cast<int32_t>(row);
    store.col = static_cast<int32_t>(col);
    store.late = shape_.reduce() == 1;
    if (epilogue_) store.lanes = rows * l_ * e_lanes_;
    const int64_t result_bytes = moved_bytes(source_, source(roles_.store));
    store.adders = static_cast<int32_t>(geometry_.sharers());
    const bool adds = store.adders > 1;
    store.bytes.store(rows * l_ * (adds ? added_bytes(result_bytes) : result_bytes));
    const int32_t stored = add(store, operands);
    return adds ? add(settle_after(store, rows * l_ * result_bytes), {stored}) : stored;
  }

  int32_t epilogue_load(NodeId of, int core, int64_t row, int64_t col, int64_t rows) {
    TileOp load = load_node(of, core, row, col, rows, l_);
    load.bytes.scratchpad_read = load.bytes.global_read;
    return add(load, {});
  }

  const Graph& source_;
  const TileRoles roles_;
  const TileGeometry geometry_;
  const ClusterShape shape_;
  const GatedWay way_;
  const int64_t element_;
  const bool slices_stay_;
  const std::vector<bool> by_threads_;  ///< by node, of loads
  const bool epilogue_;
  HeldBytes c_placed_, e_placed_;
  LaneWork c_lanes_, e_lanes_;  ///< of an element: the maps between the products, and after them
  int64_t m_ = 0, n_ = 0, k_ = 0, l_ = 0;
  Communication sent_;
  Extents at_{{0, 0, 0, 0}};
  TileOps graph_;
  std::vector<CoreState> cores_;
  std::vector<int32_t> exchanged_, reduced_;  ///< by core: the last sum of C, of E
  int64_t received_ = 0;                      ///< slices that every core has received so far
};

}  // namespace

TileOps expand_tiles(const Graph& graph, bool epilogue) {
  return Builder(graph, epilogue).build();
}

}  // namespace fuseflow
