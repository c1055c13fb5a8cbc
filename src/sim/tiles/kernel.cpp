#include "sim/tiles/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "sim/tiles/forwarded_loads.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/load_buffer.h"
#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Where a tile is: tiles along each dimension (KernelDim), k apart.
struct KernelTile {
  int64_t m = 0, n = 0, g = 0;
  int64_t part = 0;  ///< which of the clusters that add to it in memory
};

/// Tiles of rows that the cores of a cluster have at a time, of all columns and elements of the
/// batch: numbered like tiles, g outermost and n innermost. Where cores share the columns, the
/// tiles of all of them; where they share k, one tile.
int64_t tile_groups(const Graph& graph) {
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t rows = graph.indices[kKernelM].tiling.cluster;
  return ceil_div(tiles[kKernelM], rows) * tiles[kKernelN] / column_cores(graph) * tiles[kKernelG];
}

/// Groups of tiles, once for each cluster that adds to them; the first part of k of all tiles
/// first.
int64_t all_groups(const Graph& graph) {
  return tile_groups(graph) * adding_clusters(graph);
}

/// The tile of a core in a group; none where the rows end before.
std::optional<KernelTile> tile_of_group(const Graph& graph, int64_t number, int core) {
  const KernelSizes tiles = kernel_tiles(graph);
  const int64_t group = number % tile_groups(graph), part = number / tile_groups(graph);
  if (column_cores(graph) > 1) return {{group % tiles[kKernelM], core, group / tiles[kKernelM]}};
  const int cores = graph.indices[kKernelM].tiling.cluster;
  if (cores == 1) core = 0;  // those that share k have the same tile
  const int64_t rows = ceil_div(tiles[kKernelM], int64_t{cores});
  const int64_t row = group / tiles[kKernelN];
  const KernelTile tile{row % rows * cores + core, group % tiles[kKernelN], row / rows, part};
  if (tile.m >= tiles[kKernelM]) return std::nullopt;
  return tile;
}

/// What all cores have in common.
struct KernelNodes {
  explicit KernelNodes(const Graph& graph)
      : roles(kernel_roles(graph)),
        walks(kernel_walks(graph, roles)),
        tiles(kernel_tiles(graph)),
        packed(gathered_step(graph)),
        groups(all_groups(graph)),
        in_parts(depth_parts(graph) > 1),
        work(work_on_lanes(graph)),
        varies(graph.nodes.size()),
        by_threads(loads_by_threads(graph)) {
    for (const NodeId n : roles.loads) varies[n] = varies_along(graph, graph.nodes[n]);
    for (size_t w = 0; w < walks.size(); ++w) {
      loads.push_back(loads_of_walk(graph, roles, walks, w));
    }
    for (const NodeId n : roles.steps) {
      for (const Input& input : graph.nodes[n].inputs) {
        if (!input.is_immediate()) of_steps.insert(input.stream);
      }
    }
  }

  KernelRoles roles;
  std::vector<std::vector<NodeId>> walks;  ///< of the steps of k
  std::vector<std::vector<NodeId>> loads;  ///< by walk
  KernelSizes tiles;
  int64_t packed;                         ///< k that a step gathers; 0: it has a tile of k
  int64_t groups;                         ///< of tiles
  bool in_parts;                          ///< the steps of a tile are divided
  std::vector<OnLanes> work;              ///< by node
  std::vector<std::vector<bool>> varies;  ///< by node, of loads: along which dimensions they do
  std::vector<bool> by_threads;           ///< by node, of loads
  std::set<StreamId> of_steps;            ///< what the steps of k take
};

/// Where a core is: which of the cluster's groups of tiles, from 0, and which step of k; after the
/// last one kAfterSteps + e, where e exchanges have begun.
using StepNumber = std::pair<int32_t, int64_t>;
constexpr int64_t kAfterSteps = INT64_MAX - 1 - static_cast<int64_t>(kMostExchanges);

/// The operations of a cluster while they are made.
struct ClusterOps {
  ClusterOps(const Graph& graph, int cores) : sent(graph.nodes.size()), summed(graph.nodes.size()) {
    ops.cores = cores;
    for (const NodeId n : kernel_roles(graph).exchanges) {
      sent[n] = summed[n] = std::vector<int32_t>(static_cast<size_t>(cores), kNone);
    }
  }
  TileOps ops;
  std::vector<std::vector<int32_t>> sent, summed;  ///< by exchange and core, the last so far
};

/// Emits the operations of one core, step after step of tile after tile.
class CoreBuilder {
 public:
  /// The core of cluster number `cluster` of `clusters`.
  CoreBuilder(const Graph& graph, const KernelNodes& nodes, ClusterOps& made, int core,
              int64_t cluster, int64_t clusters)
      : g_(graph),
        core_(core),
        clusters_(clusters),
        nodes_(nodes),
        roles_(nodes.roles),
        cluster_(made),
        ops_(made.ops),
        group_(cluster),
        made_(graph.streams.size(), -1),
        buffers_(graph.nodes.size()),
        running_(graph.nodes.size()),
        done_steps_(static_cast<size_t>(steps_at_a_time(graph, roles_))) {
    for (const NodeId n : roles_.loads) buffers_[n] = LoadBuffer(node(n).capacity);
    begin_tile();
  }

  bool done() const { return group_ >= nodes_.groups; }

  StepNumber step() const {
    if (after_ >= 0) return {turn_, kAfterSteps + after_};
    if (ks_.empty()) return {turn_, 0};
    // Cores that share k are at their first step together.
    const int64_t first = nodes_.in_parts ? ks_.front() : 0;
    return {turn_, ks_[at_k_] - first + static_cast<int64_t>(walk_) * nodes_.tiles[kKernelK]};
  }

  /// What the step loads.
  void load_step() {
    if (after_ >= 0) return;
    if (ks_.empty()) return load_without_steps();
    const size_t end =
        std::min(at_k_ + static_cast<size_t>(std::max<int64_t>(nodes_.packed, 1)), ks_.size());
    picked_.assign(ks_.begin() + static_cast<int64_t>(at_k_),
                   ks_.begin() + static_cast<int64_t>(end));
    at_[kKernelK] = picked_.front();
    for (const NodeId n : nodes_.loads[walk_]) {
      if (is_taken(n)) load(n);
    }
  }

  /// What it does beside; then the core is at its next step.
  void finish_step() {
    if (after_ >= 0) return after_steps();
    if (!ks_.empty()) compute_step();
    at_k_ += picked_.size();
    if (at_k_ < ks_.size()) return;
    at_k_ = 0;
    if (++walk_ < nodes_.walks.size()) return;
    walk_ = 0;
    after_ = 0;
    next_ = roles_.last.begin();
  }

 private:
  /// That of the group, or of the first one after it which has a tile for the core.
  void begin_tile() {
    std::optional<KernelTile> tile;
    for (; !done(); group_ += clusters_, ++turn_) {
      if (tile = tile_of_group(g_, group_, core_); tile) break;
    }
    if (!tile) return;
    at_ = {tile->m, tile->n, 0, tile->g};
    adds_ = tile->part > 0;
    after_ = -1;
    for (Running& running : running_) running.op = -1;
    picked_.clear();
    ks_.clear();
    if (roles_.reductions.empty()) {
      ks_.push_back(0);
      return;
    }
    const int cores = depth_cores(g_);
    const int64_t part = tile->part * cores + (cores > 1 ? core_ : 0);
    for (const TileRange& range : kernel_walk_of(g_, tile->m, tile->g, part)) {
      for (int64_t k = range.begin; k < range.end; ++k) ks_.push_back(k);
    }
  }

  /// What is reduced is what it starts from, without an operation. What follows still loads what it
  /// takes.
  void load_without_steps() {
    for (const NodeId n : roles_.reductions) {
      for (const StreamId given : node(n).outputs) made(given) = -1;
    }
    for (const NodeId n : roles_.loads) {
      if (nodes_.of_steps.count(node(n).outputs[0]) == 0 && is_taken(n)) load(n);
    }
  }

  /// What only the cluster that finishes a tile takes, those that add to it do not load.
  bool is_taken(NodeId load) const {
    return !adds_ || nodes_.of_steps.count(node(load).outputs[0]) != 0;
  }

  void compute_step() {
    for (const NodeId n : nodes_.walks[walk_]) {
      if (node(n).kind == NodeKind::tile_hold) {
        made(node(n).outputs[0]) = made(node(n).inputs[0].stream);
      } else {
        is_held_reduction(g_, node(n)) ? reduce(n) : compute(n);
      }
    }
    end_step();
  }

  /// What follows the steps, up to the next exchange or to the store. What the others send is there
  /// when all of them have sent it.
  void after_steps() {
    if (after_ > 0) sum(*(next_ - 1));
    for (; next_ != roles_.last.end(); ++next_) {
      if (is_exchange(node(*next_))) {
        send(*next_++);
        ++after_;
        return;
      }
      if (!adds_) compute(*next_);
    }
    store();
    group_ += clusters_;
    ++turn_;
    begin_tile();
  }

  int32_t add(TileOp op, const std::vector<int32_t>& operands, const std::vector<int32_t>& order) {
    op.core = static_cast<uint8_t>(core_);
    return ops_.add(op, operands, order);
  }

  const Node& node(NodeId n) const { return g_.nodes[n]; }
  int32_t& made(StreamId s) { return made_[s]; }

  /// Number of the tile that a node has here, among those along the dimensions where they differ.
  int64_t number(const std::vector<bool>& varies) const {
    int64_t number = 0;
    for (const size_t d :
         {size_t{kKernelG}, size_t{kKernelM}, size_t{kKernelN}, size_t{kKernelK}}) {
      if (varies[d]) number = number * nodes_.tiles[d] + at_[d];
    }
    return number;
  }

  /// Number of the tile, or of the core's share of it where the cores of a cluster have shares.
  int64_t number(const std::vector<bool>& varies, StreamId stream) const {
    const int shares = shares_of(g_, stream);
    return shares > 1 ? number(varies) * shares + core_ : number(varies);
  }

  /// Does a step gather the tiles of this load one by one?
  bool gathered(NodeId load) const { return nodes_.packed > 0 && nodes_.varies[load][kKernelK]; }

  /// What tells the tile that a load has from others. Those gathered depend on the tile of rows,
  /// whose list they follow.
  int64_t resident(NodeId load) const {
    std::vector<bool> varies = nodes_.varies[load];
    if (gathered(load)) varies[kKernelM] = varies[kKernelG] = true;
    return number(varies);
  }

  void add_pieces(NodeId load, TileOp& op) {
    op.first_piece = static_cast<int32_t>(ops_.pieces.size());
    op.pieces = static_cast<int32_t>(picked_.size());
    for (const int64_t k : picked_) {
      at_[kKernelK] = k;
      ops_.pieces.push_back(static_cast<int32_t>(number(nodes_.varies[load])));
    }
    at_[kKernelK] = picked_.front();
  }

  void load(NodeId n) {
    const StreamId given = node(n).outputs[0];
    made(given) = buffers_[n].get({n, resident(n), 0}, [&](const std::vector<int32_t>& room) {
      TileOp op = op_of(TileOpKind::load, n);
      // A tile that is loaded in both walks is not the same load.
      op.turn = turn_ * static_cast<int32_t>(nodes_.walks.size()) + static_cast<int32_t>(walk_);
      op.row = static_cast<int32_t>(number(nodes_.varies[n], given));
      op.alone = nodes_.by_threads[static_cast<size_t>(n)];
      if (gathered(n)) add_pieces(n, op);
      op.bytes.load(std::max(op.pieces, 1) * core_elements(g_, given) * moved_bytes(g_, node(n)));
      return add(op, {}, room);
    });
  }

  /// Operands of a node; what it reads of scratchpad (loads) and registers (the others). `without`
  /// is an input that the operation does not read.
  std::vector<int32_t> operands(const Node& at, TileOp& op, const Input* without = nullptr) {
    std::vector<int32_t> taken;
    for (const Input& input : at.inputs) {
      if (input.is_immediate() || &input == without || made(input.stream) < 0) continue;
      const bool loaded = producer(input.stream).kind == NodeKind::tile_load;
      const int64_t tiles =
          loaded && gathered(g_.streams[input.stream].producer) ? nodes_.packed : 1;
      const int64_t elements = tiles * core_elements(g_, input.stream);
      (loaded ? op.bytes.scratchpad_read : op.bytes.registers) +=
          elements * (loaded ? moved_bytes(g_, producer(input.stream)) : kAccumulatorBytes);
      op.late = op.late || (producer(input.stream).kind == NodeKind::tile_multiply &&
                            !drained_before(at, input));
      const int32_t from = made(input.stream);
      if (std::find(taken.begin(), taken.end(), from) == taken.end()) taken.push_back(from);
    }
    return taken;
  }

  /// Another operand took the same product, and so waited for the pipeline. Only kernels of several
  /// reductions have such operands in every step.
  bool drained_before(const Node& at, const Input& product) {
    if (!roles_.held()) return false;
    return std::any_of(at.inputs.begin(), at.inputs.end(), [&](const Input& other) {
      if (other.is_immediate() || other.stream == product.stream || made(other.stream) < 0) {
        return false;
      }
      const TileOp& op = ops_.nodes[made(other.stream)];
      const auto first = ops_.edges.begin() + op.first_operand;
      return std::find(first, first + op.operands, made(product.stream)) != first + op.operands;
    });
  }

  const Node& producer(StreamId s) const { return node(g_.streams[s].producer); }

  /// The operation `op` has read what `at` takes: loads' copies and reductions' results.
  void took(const Node& at, int32_t op) {
    for (const Input& input : at.inputs) {
      if (input.is_immediate()) continue;
      NodeId from = g_.streams[input.stream].producer;
      if (node(from).kind == NodeKind::tile_hold) {
        from = g_.streams[node(from).inputs[0].stream].producer;
      }
      if (node(from).kind == NodeKind::tile_load) {
        buffers_[from].users().push_back(op);
      }
      if (is_held_reduction(g_, node(from))) {
        running_[from].readers.push_back(op);
      }
    }
  }

  /// A map, a coordinate, or a product within or after the steps.
  void compute(NodeId n) {
    const Node& at = node(n);
    const bool product = at.kind == NodeKind::tile_multiply;
    TileOp op = op_of(product ? TileOpKind::multiply : TileOpKind::map, n);
    const std::vector<int32_t> taken = operands(at, op);
    op.bytes.registers += core_elements(g_, at.outputs[0]) * kAccumulatorBytes;
    if (product) {
      count_product(at, op);
    } else {
      on_lanes(n, op);
    }
    const int32_t made_here = add(op, taken, room_for(at));
    made(at.outputs[0]) = made_here;
    took(at, made_here);
  }

  /// What the core has to the others, to each its share or all of it, when they have summed what
  /// they got before.
  void send(NodeId n) {
    const Node& at = node(n);
    const StreamId own = at.inputs[0].stream;
    TileOp op = op_of(TileOpKind::send, n);
    op.turn = turn_;
    // The product is in the pipeline, if there is one.
    op.late = made(own) >= 0 && producer(own).kind == NodeKind::tile_multiply;
    op.rows = static_cast<int32_t>(sent_elements(g_, at));
    op.cols = 1;
    op.bytes.send(exchanged_bytes(g_, at));
    const int32_t sent = add(op, {made(own)}, of_others(cluster_.summed[n]));
    took(at, sent);
    cluster_.sent[n][core_] = sent;
  }

  /// What the others send is summed with the core's own; it has nothing where it walked no step.
  void sum(NodeId n) {
    const Node& at = node(n);
    TileOp op = op_of(TileOpKind::map, n);
    on_lanes(n, op);
    op.bytes.scratchpad_read = exchanged_bytes(g_, at);  // as much as it sends
    op.bytes.registers = 2 * core_elements(g_, at.outputs[0]) * kAccumulatorBytes;
    std::vector<int32_t> parts = of_others(cluster_.sent[n]);
    parts.insert(parts.begin(), made(at.inputs[0].stream));
    const int32_t summed = add(op, parts, {cluster_.sent[n][core_]});
    made(at.outputs[0]) = cluster_.summed[n][core_] = summed;
    took(at, summed);
  }

  /// What the other cores did last.
  std::vector<int32_t> of_others(std::vector<int32_t> by_core) const {
    by_core[static_cast<size_t>(core_)] = kNone;
    return by_core;
  }

  void on_lanes(NodeId n, TileOp& op) const {
    op.lanes = nodes_.work[n].lanes;
    op.other_flops = nodes_.work[n].flops;
  }

  void count_product(const Node& at, TileOp& op) const {
    const ProductExtents extents = product_extents(g_, at);
    op.multiply(extents.rows, extents.columns, extents.depth);
  }

  /// What a node that starts a step waits for: the step whose tiles it overwrites. Only kernels of
  /// several reductions have room for a number of steps.
  const std::vector<int32_t>& room_for(const Node& at) const {
    static const std::vector<int32_t> nothing;
    const auto of_step = [&](const Input& input) {
      return !input.is_immediate() && producer(input.stream).kind != NodeKind::tile_load;
    };
    const bool starts = roles_.held() && std::none_of(at.inputs.begin(), at.inputs.end(), of_step);
    return starts ? done_steps_[static_cast<size_t>(step_) % done_steps_.size()] : nothing;
  }

  /// The reductions are the last readers of a step's tiles.
  void end_step() {
    std::vector<int32_t>& done = done_steps_[static_cast<size_t>(step_) % done_steps_.size()];
    done.clear();
    for (const NodeId n : roles_.reductions) {
      done.push_back(running_[n].op);
    }
    ++step_;
  }

  /// What is held is overwritten when all have read it; a product's is rescaled on the lanes first.
  void reduce(NodeId n) {
    const Node& at = node(n);
    const bool product = at.kind == NodeKind::tile_multiply;
    Running& running = running_[n];
    const bool rescales = rescale_of(at) != nullptr && running.op >= 0;
    if (product && rescales) rescale(n);
    TileOp op = op_of(product ? TileOpKind::multiply : TileOpKind::map, n);
    std::vector<int32_t> taken = operands(at, op, product || !rescales ? rescale_of(at) : nullptr);
    op.bytes.registers += 2 * kAccumulatorBytes * tile_elements(g_, at.outputs[0]);
    if (product) {
      count_product(at, op);
    } else {
      const int64_t rescaled = rescales ? tile_elements(g_, at.outputs[0]) : 0;
      on_lanes(n, op);
      op.lanes.vector += rescaled;
      op.other_flops += rescaled;
    }
    if (running.op >= 0) taken.push_back(running.op);
    const std::vector<int32_t> readers = std::move(running.readers);
    running.readers.clear();
    running.op = add(op, taken, readers);
    for (const StreamId given : at.outputs) made(given) = running.op;
    took(at, running.op);
  }

  void rescale(NodeId n) {
    const Node& at = node(n);
    Running& running = running_[n];
    const StreamId factor = rescale_of(at)->stream;
    const int64_t elements = tile_elements(g_, at.outputs[0]);
    TileOp op = op_of(TileOpKind::map, n);
    op.late = true;  // the product that it rescales is in the pipeline
    op.lanes.vector = op.other_flops = elements;
    op.bytes.registers = (2 * elements + tile_elements(g_, factor)) * kAccumulatorBytes;
    running.op = add(op, {running.op, made(factor)}, {});
  }

  void store() {
    Node at = node(roles_.store);
    if (adds_) at.inputs[0].stream = summed_stream(g_, roles_);
    TileOp op = op_of(TileOpKind::store, roles_.store);
    const std::vector<int32_t> taken = operands(at, op);
    const StreamId stored = at.inputs[0].stream;
    op.row = static_cast<int32_t>(number({true, column_cores(g_) == 1, false, true}, stored));
    op.adders = static_cast<int32_t>(adding_clusters(g_));
    if (adds_) op.other_flops = core_elements(g_, stored);
    op.bytes.store(core_elements(g_, stored) * stored_bytes(g_, at));
    int32_t last = add(op, taken, {});
    if (op.adders > 1) {
      const int64_t result = core_elements(g_, stored) * moved_bytes(g_, at);
      last = add(settle_after(op, result), {last}, {});
    }
    took(at, last);
  }

  const Graph& g_;
  const int core_;  ///< of its cluster
  const int64_t clusters_;
  const KernelNodes& nodes_;
  const KernelRoles& roles_;
  ClusterOps& cluster_;
  TileOps& ops_;
  int64_t group_;  ///< of tiles
  int32_t turn_ = 0;
  KernelSizes at_{};
  bool adds_ = false;                         ///< to what another cluster finishes
  std::vector<int64_t> ks_;                   ///< tiles of k that the core walks
  size_t walk_ = 0, at_k_ = 0;                ///< of k, and into `ks_`
  std::vector<int64_t> picked_;               ///< those of the step under way
  int64_t after_ = -1;                        ///< exchanges that have begun after the steps
  std::vector<NodeId>::const_iterator next_;  ///< of what follows them
  std::vector<int32_t> made_;                 ///< by stream: the operation that gave its tile
  std::vector<LoadBuffer> buffers_;
  /// What a reduction holds: the operation that gave it, and what has read it since.
  struct Running {
    int32_t op = -1;
    std::vector<int32_t> readers;
  };
  std::vector<Running> running_;                  ///< by node
  std::vector<std::vector<int32_t>> done_steps_;  ///< reductions of the last steps, in a ring
  int64_t step_ = 0;
};

/// Operations of a step and of the end of a tile: a rescaled product, an exchange and a store to
/// which clusters add have two, and what a second walk needs, too.
int64_t operations_a_step(const Graph& graph) {
  const KernelRoles roles = kernel_roles(graph);
  int64_t operations = static_cast<int64_t>(graph.nodes.size());
  if (kernel_walks(graph, roles).size() > 1) operations += static_cast<int64_t>(roles.steps.size());
  for (const Node& node : graph.nodes) {
    const bool reduces = is_held_reduction(graph, node);
    if (reduces && node.kind == NodeKind::tile_multiply && rescale_of(node)) ++operations;
    if (is_exchange(node)) ++operations;
  }
  return operations + (adding_clusters(graph) > 1 ? 1 : 0);
}

/// Steps of all tiles of a column of the result, at most: where steps are left out, a tile without
/// any counts for one, and the last step of each part of k may be a part of one.
int64_t steps_of_rows(const Graph& graph) {
  const KernelSizes tiles = kernel_tiles(graph);
  if (kernel_roles(graph).reductions.empty()) return tiles[kKernelM] * tiles[kKernelG];
  if (!leaves_steps_out(graph)) return tiles[kKernelM] * tiles[kKernelG] * tiles[kKernelK];
  const int64_t lists = walks_differ_by_batch(graph) ? tiles[kKernelG] : 1;
  int64_t steps = 0;
  for (int64_t list = 0; list < lists * tiles[kKernelM]; ++list) {
    const int64_t m = list % tiles[kKernelM], g = list / tiles[kKernelM];
    int64_t walked = 0;
    for (const TileRange& range : kernel_walk(graph, m, g)) walked += range.end - range.begin;
    const int64_t whole = ceil_div(walked, std::max<int64_t>(gathered_step(graph), 1));
    steps += std::max<int64_t>(whole, 1) + depth_parts(graph) - 1;
  }
  return steps * (lists == 1 ? tiles[kKernelG] : 1);
}

/// Operations of all cores, at most. A kernel has 2^40 tiles and steps at most, by its rules.
int64_t operations_of(const Graph& graph) {
  const int64_t tiles = kernel_tile_count(graph) * depth_parts(graph);
  const int64_t steps = std::max(tiles, steps_of_rows(graph) * kernel_tiles(graph)[kKernelN]);
  int64_t operations = 0;
  if (__builtin_mul_overflow(operations_a_step(graph), steps, &operations)) return INT64_MAX;
  return operations;
}

/// The operations of the cores of a cluster. Of a step the loads of all of them come first, so that
/// the order stays topological when cores send each other what they loaded; the core that begins
/// changes from step to step, so that it is not always the same one that loads for all.
TileOps expand_cluster(const Graph& graph, const KernelNodes& nodes, int64_t cluster,
                       int64_t clusters, bool over_links) {
  const int count = kernel_cluster(graph);
  ClusterOps made(graph, count);
  std::vector<CoreBuilder> cores;
  for (int core = 0; core < count; ++core) {
    cores.emplace_back(graph, nodes, made, core, cluster, clusters);
  }
  std::vector<CoreBuilder*> here;
  for (;;) {
    std::optional<StepNumber> next;
    for (const CoreBuilder& core : cores) {
      if (!core.done() && (!next || core.step() < *next)) next = core.step();
    }
    if (!next) break;
    here.clear();
    const int64_t first = count - (next->first + next->second % count) % count;
    for (int64_t core = first; core < first + count; ++core) {
      CoreBuilder& at = cores[static_cast<size_t>(core % count)];
      if (!at.done() && at.step() == *next) here.push_back(&at);
    }
    for (CoreBuilder* core : here) core->load_step();
    for (CoreBuilder* core : here) core->finish_step();
  }
  return over_links && count > 1 ? forward_loads(graph, made.ops) : std::move(made.ops);
}

}  // namespace

int64_t kernel_tile_count(const Graph& graph) {
  const KernelSizes tiles = kernel_tiles(graph);
  return tiles[kKernelM] * tiles[kKernelN] * tiles[kKernelG];
}

std::vector<TileOps> expand_kernel(const Graph& graph, int64_t clusters, bool over_links) {
  if (operations_of(graph) > kMostTileOps) {
    throw Error(ExitCode::unfinished,
                fmt::format("a kernel of tiles exceeds {} operations", kMostTileOps));
  }
  check_tile_numbers(graph);
  const int64_t groups = all_groups(graph);
  const KernelNodes nodes(graph);
  std::vector<TileOps> result;
  for (int64_t cluster = 0; cluster < std::min(clusters, groups); ++cluster) {
    result.push_back(expand_cluster(graph, nodes, cluster, clusters, over_links));
  }
  return result;
}

}  // namespace fuseflow
