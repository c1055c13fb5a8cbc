#include "cluster/tile_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/error.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostNodes = int64_t{1} << 22;
constexpr int32_t kNone = -1;

/// One tile buffer of a core: which tile it has and who used each of its copies last.
struct TileBuffer {
  int64_t resident = -1;
  int32_t node = kNone;
  int64_t loaded = 0;
  std::array<int32_t, kStages> last_use{kNone, kNone, kNone, kNone};
};

struct CoreState {
  TileBuffer a, b, d;
  /// Receive slots of the ring: consumers of what arrived, so that none is overwritten too early.
  std::array<std::vector<int32_t>, kReceiveSlots> ring;
  int32_t c_accumulator_free = kNone;  ///< node after which C may be accumulated again
  std::array<int32_t, 2> e_accumulator_free{kNone, kNone};  ///< the one freed next is first
  int32_t e_accumulator = kNone;                            ///< newest partial E in the accumulator
  int32_t exchanged = kNone;                                ///< last sum of an all-exchange
  int32_t reduced = kNone;                                  ///< last sum of a reduce-scatter
  std::vector<int32_t> c_held, e_held;
  std::vector<std::vector<int32_t>> c_uses;  ///< readers of each held C tile
};

/// Walks the loops of one cluster and emits the nodes of all its cores.
class Builder {
 public:
  Builder(const Chain& chain, const Plan& plan, const Analysis& analysis, bool epilogue)
      : chain_(chain), plan_(plan), analysis_(analysis), epilogue_(epilogue) {
    m_ = plan.tile[Dim::m];
    n_ = plan.tile[Dim::n];
    k_ = plan.tile[Dim::k];
    l_ = plan.tile[Dim::l];
    sent_ = communicate(plan.shape, plan.way, m_ * n_, m_ * l_);
    graph_.cores = plan.shape.cores();
    cores_.resize(static_cast<size_t>(graph_.cores));
    for (CoreState& core : cores_) {
      core.c_held.assign(static_cast<size_t>(analysis.capacity.c_tiles_held), kNone);
      core.c_uses.resize(core.c_held.size());
      core.e_held.assign(static_cast<size_t>(analysis.capacity.e_tiles_held), kNone);
    }
  }

  TileGraph build() {
    loop(0);
    return std::move(graph_);
  }

 private:
  // --- loops -------------------------------------------------------------------------------

  void loop(int depth) {
    if (depth == plan_.schedule.loops()) {
      step();
      return;
    }
    const Dim dim = plan_.schedule.loop(depth);
    if (dim == Dim::k) {  // runs inside the first product
      loop(depth + 1);
      return;
    }
    for (at_[dim] = 0; at_[dim] < trips()[dim]; ++at_[dim]) {
      loop(depth + 1);
    }
    at_[dim] = 0;
  }

  const Extents& trips() const { return analysis_.trips.temporal; }

  void step() {
    if (at_[Dim::l] == 0) {
      make_c();
    }
    use_c();
    const bool last_n = at_[Dim::n] == trips()[Dim::n] - 1;
    if (last_n) {
      finish_e();
    } else if (analysis_.capacity.e_tiles_held > 1) {
      spill_e();
    }
  }

  /// Position of the current tile among those held for reuse over `reuse`.
  size_t slot(Dim reuse, Dim other) const {
    if (trips()[reuse] == 1) {
      return 0;
    }
    int64_t at = 0;
    for (const Dim dim : {Dim::m, other}) {
      if (plan_.schedule.inside(dim, reuse)) {
        at = at * trips()[dim] + at_[dim];
      }
    }
    return static_cast<size_t>(at);
  }

  // --- cores -------------------------------------------------------------------------------

  int core_at(int im, int in, int ik) const {
    return (im * plan_.shape.n + in) * plan_.shape.k + ik;
  }
  int m_of(int core) const { return core / (plan_.shape.n * plan_.shape.k); }
  int n_of(int core) const { return core / plan_.shape.k % plan_.shape.n; }
  int k_of(int core) const { return core % plan_.shape.k; }
  int in_group(int core) const { return n_of(core) % plan_.shape.shuffle(); }
  int group(int core) const { return n_of(core) / plan_.shape.shuffle(); }
  int l_of(int core) const { return in_group(core) * plan_.shape.k + k_of(core); }
  CoreState& state(int core) { return cores_[static_cast<size_t>(core)]; }

  int64_t offset(Dim dim, int64_t block) const {
    return (at_[dim] * plan_.shape.along(dim) + block) * plan_.tile[dim];
  }
  int64_t row_m(int core) const { return offset(Dim::m, m_of(core)); }

  // --- nodes -------------------------------------------------------------------------------

  int32_t add(TileNode node, std::initializer_list<int32_t> operands,
              const std::vector<int32_t>& more = {}, const std::vector<int32_t>& order = {}) {
    if (static_cast<int64_t>(graph_.nodes.size()) >= kMostNodes) {
      throw Error(ExitCode::unfinished,
                  fmt::format("the tile graph of a cluster exceeds {} nodes", kMostNodes));
    }
    node.first_operand = static_cast<int32_t>(graph_.edges.size());
    append(operands);
    append(more);
    node.first_order = static_cast<int32_t>(graph_.edges.size());
    node.operands = node.first_order - node.first_operand;
    append(order);
    node.orders = static_cast<int32_t>(graph_.edges.size()) - node.first_order;
    graph_.nodes.push_back(node);
    return static_cast<int32_t>(graph_.nodes.size()) - 1;
  }

  template <typename Range>
  void append(const Range& nodes) {
    for (const int32_t node : nodes) {
      if (node != kNone) {
        graph_.edges.push_back(node);
      }
    }
  }

  static TileNode node(TileKind kind, int core, int64_t rows, int64_t cols) {
    TileNode result;
    result.kind = kind;
    result.core = static_cast<uint8_t>(core);
    result.rows = static_cast<int32_t>(rows);
    result.cols = static_cast<int32_t>(cols);
    return result;
  }

  static void link(TileNode& sender, int64_t bytes) {
    sender.bytes.link += bytes;
    sender.bytes.scratchpad_read += bytes;
    sender.bytes.scratchpad_write += bytes;
  }

  TileNode load_node(TileTensor tensor, int core, int64_t row, int64_t col, int64_t rows,
                     int64_t cols) const {
    TileNode result = node(TileKind::load, core, rows, cols);
    result.tensor = tensor;
    result.row = static_cast<int32_t>(row);
    result.col = static_cast<int32_t>(col);
    result.bytes.global_read = rows * cols * chain_.element_bytes;
    result.bytes.scratchpad_write = result.bytes.global_read;
    return result;
  }

  /// The tile in `buffer`, loading it when another is there.
  int32_t buffered(TileBuffer& buffer, TileNode load) {
    const int64_t key = ((int64_t{load.branch} << 60) | (int64_t{load.row} << 30)) + load.col;
    if (buffer.resident == key) {
      return buffer.node;
    }
    const auto copy = static_cast<size_t>(++buffer.loaded % analysis_.capacity.stages);
    buffer.resident = key;
    buffer.node = add(load, {}, {}, {buffer.last_use[copy]});
    buffer.last_use[copy] = buffer.node;
    return buffer.node;
  }

  void used(TileBuffer& buffer, int32_t by) {
    buffer.last_use[static_cast<size_t>(buffer.loaded % analysis_.capacity.stages)] = by;
  }

  // --- the first product -------------------------------------------------------------------

  void make_c() {
    std::vector<std::vector<int32_t>> partial(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      const bool both = plan_.way == GatedWay::sequential;
      for (int branch = 0; branch < (both ? 2 : 1); ++branch) {
        const int which = plan_.way == GatedWay::split ? k_of(core) : branch;
        partial[static_cast<size_t>(core)].push_back(accumulate_c(core, which));
      }
    }
    if (plan_.shape.k == 1) {
      for (int core = 0; core < graph_.cores; ++core) {
        auto operands = partial[static_cast<size_t>(core)];
        append_bias(core, operands);
        state(core).c_accumulator_free = finish_c(core, operands, true);
      }
    } else {
      exchange(partial);
    }
  }

  int32_t accumulate_c(int core, int branch) {
    CoreState& s = state(core);
    const int64_t k_block = plan_.way == GatedWay::split ? 0 : k_of(core);
    const int64_t k_blocks = plan_.way == GatedWay::split ? 1 : plan_.shape.k;
    int32_t accumulator = kNone;
    for (int64_t step = 0; step < trips()[Dim::k]; ++step) {
      const int64_t at_k = (step * k_blocks + k_block) * k_;
      const int32_t a = buffered(s.a, load_node(TileTensor::a, core, row_m(core), at_k, m_, k_));
      TileNode b_load = load_node(TileTensor::b, core, at_k, offset(Dim::n, n_of(core)), k_, n_);
      b_load.branch = static_cast<uint8_t>(branch);
      const int32_t b = buffered(s.b, b_load);
      TileNode product = node(TileKind::multiply, core, m_, n_);
      product.flops = 2 * m_ * n_ * k_;
      product.bytes.scratchpad_read = (m_ * k_ + k_ * n_) * chain_.element_bytes;
      product.bytes.registers = 2 * kAccumulatorBytes * m_ * n_;
      const int32_t before = accumulator == kNone ? s.c_accumulator_free : kNone;
      accumulator = add(product, {a, b, accumulator}, {}, {before});
      used(s.a, accumulator);
      used(s.b, accumulator);
    }
    return accumulator;
  }

  void append_bias(int core, std::vector<int32_t>& operands) {
    if (!chain_.bias0) {
      return;
    }
    for (int branch = 0; branch < (plan_.way == GatedWay::sequential ? 2 : 1); ++branch) {
      TileNode bias = load_node(TileTensor::bias0, core, 0, offset(Dim::n, n_of(core)), 1, n_);
      bias.branch = static_cast<uint8_t>(plan_.way == GatedWay::split ? k_of(core) : branch);
      bias.bytes.scratchpad_read = bias.bytes.global_read;
      operands.push_back(add(bias, {}));
    }
  }

  void exchange(const std::vector<std::vector<int32_t>>& partial) {
    std::vector<int32_t> sends, sums, gathers;
    std::vector<std::vector<int32_t>> own(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      own[static_cast<size_t>(core)] = partial[static_cast<size_t>(core)];
      if (plan_.way == GatedWay::split) {
        append_bias(core, own[static_cast<size_t>(core)]);
      }
      TileNode send = node(TileKind::send, core, m_, n_);
      send.late = true;
      link(send, sent_.exchange_partial * kAccumulatorBytes);
      std::vector<int32_t> free;
      for_peers(core, [&](int peer) { free.push_back(state(peer).exchanged); });
      sends.push_back(add(send, {}, own[static_cast<size_t>(core)], free));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      TileNode sum = node(TileKind::sum, core, m_ / plan_.shape.k, n_);
      sum.part = static_cast<uint8_t>(k_of(core));
      sum.parts = static_cast<uint8_t>(plan_.shape.k);
      std::vector<int32_t> operands = group_nodes(core, sends);
      if (plan_.way != GatedWay::split) {  // once a sum, not once a partial
        append_bias(core, operands);
      }
      sums.push_back(add(sum, {}, operands));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      state(core).exchanged = sums[static_cast<size_t>(core)];
      state(core).c_accumulator_free = sums[static_cast<size_t>(core)];
      TileNode gather = node(TileKind::send, core, m_ / plan_.shape.k, n_);
      link(gather, sent_.exchange_gather * chain_.element_bytes);
      gathers.push_back(add(gather, {sums[static_cast<size_t>(core)]}));
    }
    for (int core = 0; core < graph_.cores; ++core) {
      finish_c(core, group_nodes(core, gathers), false);
    }
  }

  template <typename Visit>
  void for_peers(int core, const Visit& visit) {
    for (int ik = 0; ik < plan_.shape.k; ++ik) {
      if (ik != k_of(core)) {
        visit(core_at(m_of(core), n_of(core), ik));
      }
    }
  }

  std::vector<int32_t> group_nodes(int core, const std::vector<int32_t>& nodes) const {
    std::vector<int32_t> result;
    for (int ik = 0; ik < plan_.shape.k; ++ik) {
      result.push_back(nodes[static_cast<size_t>(core_at(m_of(core), n_of(core), ik))]);
    }
    return result;
  }

  /// Bytes of the held tile `slot` of `bytes` bytes that each level keeps.
  static Placement part_of(const Placement& whole, size_t slot, int64_t bytes) {
    int64_t from = static_cast<int64_t>(slot) * bytes;
    int64_t left = bytes;
    const auto take = [&](int64_t level) {
      const int64_t taken = std::clamp<int64_t>(level - from, 0, left);
      from = std::max<int64_t>(from - level, 0);
      left -= taken;
      return taken;
    };
    Placement part;
    part.registers = take(whole.registers);
    part.scratchpad = take(whole.scratchpad);
    part.links = take(whole.links);
    part.global = left;
    return part;
  }

  Placement c_part() const {
    return part_of(analysis_.capacity.c, slot(Dim::l, Dim::n), m_ * n_ * chain_.element_bytes);
  }

  int32_t finish_c(int core, const std::vector<int32_t>& operands, bool activates) {
    CoreState& s = state(core);
    const size_t at = slot(Dim::l, Dim::n);
    TileNode put = node(TileKind::finish, core, m_, n_);
    put.late = activates;
    put.parts = static_cast<uint8_t>(plan_.shape.k);
    const Placement part = c_part();
    put.bytes.registers = part.registers;
    put.bytes.scratchpad_write = part.scratchpad;
    put.bytes.global_write = part.global;
    s.c_held[at] = add(put, {}, operands, s.c_uses[at]);
    s.c_uses[at].clear();
    return s.c_held[at];
  }

  // --- the second product ------------------------------------------------------------------

  /// C of this core as an operand, fetched when part of it is elsewhere.
  int32_t own_slice(int core) {
    CoreState& s = state(core);
    const size_t at = slot(Dim::l, Dim::n);
    const Placement part = c_part();
    if (part.links == 0 && part.global == 0) {
      return s.c_held[at];
    }
    TileNode fetch = node(TileKind::fetch, core, m_, n_);
    link(fetch, part.links);
    fetch.bytes.global_read = part.global;
    fetch.bytes.scratchpad_write += part.global;
    const int32_t fetched = add(fetch, {s.c_held[at]});
    s.c_uses[at].push_back(fetched);
    return fetched;
  }

  void use_c() {
    begin_e();
    std::vector<int32_t> slices(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      slices[static_cast<size_t>(core)] = own_slice(core);
      multiply_e(core, slices[static_cast<size_t>(core)], 0);
    }
    for (int round = 1; round < plan_.shape.shuffle(); ++round) {
      std::vector<int32_t> next(cores_.size());
      for (int core = 0; core < graph_.cores; ++core) {
        next[static_cast<size_t>(core)] = pass_on(core, slices, round);
      }
      for (int core = 0; core < graph_.cores; ++core) {
        multiply_e(core, next[static_cast<size_t>(core)], round);
      }
      slices = next;
    }
    received_ += plan_.shape.shuffle() - 1;
  }

  /// Core receives, from the next one of its ring, the slice that one had in the round before.
  int32_t pass_on(int core, const std::vector<int32_t>& slices, int round) {
    const int ring = plan_.shape.shuffle();
    const int from_n = group(core) * ring + (in_group(core) + 1) % ring;
    const int from = core_at(m_of(core), from_n, k_of(core));
    std::vector<int32_t>& slot_users = ring_slot(core, round);
    TileNode send = node(TileKind::send, from, m_, n_);
    link(send, m_ * n_ * chain_.element_bytes);
    const int32_t sent = add(send, {slices[static_cast<size_t>(from)]}, {}, slot_users);
    slot_users.clear();
    slice_users(from, round - 1).push_back(sent);
    return sent;
  }

  /// Readers of the receive slot that a round's slice arrives in.
  std::vector<int32_t>& ring_slot(int core, int round) {
    return state(core).ring[static_cast<size_t>((received_ + round) % kReceiveSlots)];
  }

  /// Readers of the slice that a core works on in a round: its own first, then received ones.
  std::vector<int32_t>& slice_users(int core, int round) {
    return round == 0 ? state(core).c_uses[slot(Dim::l, Dim::n)] : ring_slot(core, round);
  }

  void multiply_e(int core, int32_t slice, int round) {
    CoreState& s = state(core);
    const int64_t slice_n =
        group(core) * plan_.shape.shuffle() + (in_group(core) + round) % plan_.shape.shuffle();
    const int32_t d = buffered(s.d, load_node(TileTensor::d, core, offset(Dim::n, slice_n),
                                              offset(Dim::l, l_of(core)), n_, l_));
    TileNode product = node(TileKind::multiply, core, m_, l_);
    const int64_t in_registers = round == 0 ? c_part().registers : 0;
    product.flops = 2 * m_ * n_ * l_;
    product.bytes.registers = 2 * kAccumulatorBytes * m_ * l_ + in_registers;
    product.bytes.scratchpad_read = (m_ * n_ + n_ * l_) * chain_.element_bytes - in_registers;
    const int32_t free = s.e_accumulator == kNone ? s.e_accumulator_free[0] : kNone;
    s.e_accumulator = add(product, {slice, d, s.e_accumulator}, {}, {free});
    used(s.d, s.e_accumulator);
    slice_users(core, round).push_back(s.e_accumulator);
  }

  // --- partial and finished E --------------------------------------------------------------

  TileNode e_moved(TileKind kind, int core) const {
    const Placement part =
        part_of(analysis_.capacity.e, slot(Dim::n, Dim::l), m_ * l_ * kAccumulatorBytes);
    TileNode result = node(kind, core, m_, l_);
    result.bytes.registers = part.registers;
    if (kind == TileKind::spill) {
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
    if (analysis_.capacity.e_tiles_held == 1) {
      return;  // the accumulator keeps it, or it begins empty
    }
    for (int core = 0; core < graph_.cores; ++core) {
      CoreState& s = state(core);
      s.e_accumulator = kNone;
      if (at_[Dim::n] > 0) {
        s.e_accumulator = add(e_moved(TileKind::refill, core), {s.e_held[slot(Dim::n, Dim::l)]}, {},
                              {s.e_accumulator_free[0]});
      }
    }
  }

  void spill_e() {
    for (int core = 0; core < graph_.cores; ++core) {
      CoreState& s = state(core);
      const int32_t put = add(e_moved(TileKind::spill, core), {s.e_accumulator});
      s.e_held[slot(Dim::n, Dim::l)] = put;
      release_e(s, put);
      s.e_accumulator = kNone;
    }
  }

  /// `by` is the last to read the accumulator in use; with two, the next E tile takes the other.
  void release_e(CoreState& s, int32_t by) {
    if (analysis_.capacity.e_accumulators == 2) {
      std::swap(s.e_accumulator_free[0], s.e_accumulator_free[1]);
      s.e_accumulator_free[1] = by;
    } else {
      s.e_accumulator_free[0] = by;
    }
  }

  void finish_e() {
    const int share_count = plan_.shape.reduce();
    std::vector<int32_t> finished(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      finished[static_cast<size_t>(core)] = state(core).e_accumulator;
    }
    if (share_count > 1) {
      reduce_scatter(finished);
    }
    for (int core = 0; core < graph_.cores; ++core) {
      const int32_t stored = store_e(core, finished[static_cast<size_t>(core)]);
      release_e(state(core), share_count > 1 ? finished[static_cast<size_t>(core)] : stored);
      state(core).e_accumulator = kNone;
    }
  }

  void reduce_scatter(std::vector<int32_t>& finished) {
    std::vector<int32_t> sends(cores_.size());
    for (int core = 0; core < graph_.cores; ++core) {
      TileNode send = node(TileKind::send, core, m_, l_);
      send.late = true;
      link(send, sent_.reduce_scatter * kAccumulatorBytes);
      std::vector<int32_t> free;
      for (const int peer : reduce_group(core)) {
        free.push_back(state(peer).reduced);
      }
      sends[static_cast<size_t>(core)] = add(send, {finished[static_cast<size_t>(core)]}, {}, free);
    }
    for (int core = 0; core < graph_.cores; ++core) {
      TileNode sum = node(TileKind::reduce, core, m_ / plan_.shape.reduce(), l_);
      sum.part = static_cast<uint8_t>(group(core));
      sum.parts = static_cast<uint8_t>(plan_.shape.reduce());
      std::vector<int32_t> operands;
      for (const int peer : reduce_group(core)) {
        operands.push_back(sends[static_cast<size_t>(peer)]);
      }
      finished[static_cast<size_t>(core)] = add(sum, {}, operands);
    }
    for (int core = 0; core < graph_.cores; ++core) {
      state(core).reduced = finished[static_cast<size_t>(core)];
    }
  }

  /// Cores with the same (M, L) tile, by group: they hold different partial sums of it.
  std::vector<int> reduce_group(int core) const {
    std::vector<int> cores;
    for (int g = 0; g < plan_.shape.reduce(); ++g) {
      cores.push_back(core_at(m_of(core), g * plan_.shape.shuffle() + in_group(core), k_of(core)));
    }
    return cores;
  }

  int32_t store_e(int core, int32_t tile) {
    const int64_t rows = m_ / plan_.shape.reduce();
    const int64_t row = row_m(core) + group(core) * rows;
    const int64_t col = offset(Dim::l, l_of(core));
    std::vector<int32_t> extra;
    if (epilogue_ && chain_.bias1) {
      extra.push_back(epilogue_load(TileTensor::bias1, core, 0, col, 1));
    }
    if (epilogue_ && chain_.residual) {
      extra.push_back(epilogue_load(TileTensor::residual, core, row, col, rows));
    }
    TileNode store = node(TileKind::store, core, rows, l_);
    store.tensor = TileTensor::e;
    store.row = static_cast<int32_t>(row);
    store.col = static_cast<int32_t>(col);
    store.late = plan_.shape.reduce() == 1;
    const Trips& t = analysis_.trips;
    const bool shared = t.all[Dim::n] != t.temporal[Dim::n] || t.all[Dim::k] != t.temporal[Dim::k];
    store.bytes.global_write = rows * l_ * (shared ? kAccumulatorBytes : chain_.element_bytes);
    store.bytes.scratchpad_write = store.bytes.global_write;
    store.bytes.scratchpad_read = store.bytes.global_write;
    return add(store, {tile}, extra);
  }

  int32_t epilogue_load(TileTensor tensor, int core, int64_t row, int64_t col, int64_t rows) {
    TileNode load = load_node(tensor, core, row, col, rows, l_);
    load.bytes.scratchpad_read = load.bytes.global_read;
    return add(load, {});
  }

  const Chain& chain_;
  const Plan& plan_;
  const Analysis& analysis_;
  bool epilogue_;
  int64_t m_ = 0, n_ = 0, k_ = 0, l_ = 0;
  Communication sent_;
  Extents at_{{0, 0, 0, 0}};
  TileGraph graph_;
  std::vector<CoreState> cores_;
  int64_t received_ = 0;  ///< slices that every core has received so far
};

}  // namespace

std::vector<ClusterAt> clusters_of(const Plan& plan, const Trips& trips) {
  std::vector<ClusterAt> clusters{ClusterAt{{0, 0, 0, 0}}};
  for (const Dim dim : {Dim::m, Dim::n, Dim::k, Dim::l}) {
    if (plan.schedule.temporal(dim)) {
      continue;
    }
    std::vector<ClusterAt> longer;
    for (const ClusterAt& at : clusters) {
      for (int64_t step = 0; step < trips.all[dim]; ++step) {
        longer.push_back(at);
        longer.back()[dim] = step;
      }
    }
    clusters = std::move(longer);
  }
  return clusters;
}

int64_t graph_size(const Plan& plan, const Analysis& analysis) {
  const Visits& v = analysis.visits;
  const ClusterShape& shape = plan.shape;
  const int64_t each = v.a_loads + v.b_loads + v.d_loads + v.first_multiplies +
                       2 * v.second_multiplies + v.c_tiles * (shape.k > 1 ? 6 : 3) + v.e_tiles * 5 +
                       2 * v.e_respills;
  return each * shape.cores();
}

TileGraph build_graph(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      bool epilogue) {
  if (obstacle_of(chain, plan, analysis.trips) != Obstacle::none) {
    throw Error(ExitCode::internal,
                fmt::format("plan {} cannot run, expected an executable one", describe(plan)));
  }
  return Builder(chain, plan, analysis, epilogue).build();
}

}  // namespace fuseflow::cluster
