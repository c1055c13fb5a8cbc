#include "cluster/rows/tiles.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "chip/needs.h"
#include "cluster/common/key.h"
#include "cluster/common/load_cycles.h"
#include "cluster/common/memo.h"
#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/tiles/rows_counts.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostRows = 128;     ///< of a tile
constexpr int64_t kMostColumns = 256;  ///< ... along a width
constexpr int kMostTall = 2;           ///< cores that load weights together
constexpr size_t kMostSimulated = 16;
/// Of the cost of a candidate, what it takes at least, but for few.
constexpr double kLeastOfCost = 0.95;
constexpr double kMostOperations = 1 << 20;  ///< products of tiles, of all cores
constexpr size_t kMostKeptBytes = size_t{1} << 24;
constexpr std::array<int64_t, 4> kCopies{8, 4, 2, 1};  ///< of loads, as many as fit

/// Cycles of a part of a kernel: what a core computes, what passes its port, what its scratchpad
/// reads and writes. A core does all at a time.
struct Work {
  double computed = 0;
  double passed = 0;  ///< in each turn
  double once = 0;    ///< in the first turn alone
  double moved = 0;   ///< by the scratchpad

  Work& operator+=(const Work& other) {
    computed += other.computed;
    passed += other.passed;
    once += other.once;
    moved += other.moved;
    return *this;
  }
};

/// What one core does for one tile of rows.
class Costs {
 public:
  Costs(const Graph& graph, const RowsTiles& tiles, const Machine& machine)
      : g_(graph),
        tiles_(tiles),
        machine_(machine),
        shape_(rows_shape(graph)),
        by_threads_(loads_by_threads(graph)) {}

  /// The first turn waits for the loads of its first loop, the last one's stores for all else.
  double all() const {
    const RowsCluster cluster = rows_cluster(g_);
    const int64_t at_a_time = std::max<int64_t>(machine_.concurrent_clusters(cluster.cores()), 1);
    const int64_t groups = rows_tiles(g_) / cluster.rows;
    const double cores =
        static_cast<double>(std::min(groups, at_a_time)) * static_cast<double>(cluster.cores());
    const int64_t turns = ceil_div(groups, at_a_time);
    Work turn;
    double first = 0;
    for (const TileLoop& loop : shape_.loops) {
      const Work work = of_loop(loop, cores, turns);
      if (first == 0) first = work.passed + work.once;  // nothing is computed meanwhile
      turn += work;
    }
    const Work stored = stored_in_turn(cores);
    turn += stored;
    const double later = std::max({turn.computed, turn.passed, turn.moved});
    return latency(1) + first + std::max(later, turn.passed + turn.once) +
           static_cast<double>(turns - 1) * later + stored.passed;
  }

  double operations() const {
    double products = 0;
    for (const Node& node : g_.nodes) {
      if (node.kind != NodeKind::tile_multiply) continue;
      const auto summed = static_cast<size_t>(rows_width(g_, node.inputs[0].stream));
      products += static_cast<double>(rows_tiles_computed(g_, node)) *
                  static_cast<double>(g_.indices[summed].extent);
    }
    return products;
  }

 private:
  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  double bytes(StreamId s) const {
    const Node& from = node(g_.streams[static_cast<size_t>(s)].producer);
    const bool loaded = from.kind == NodeKind::tile_load;
    return static_cast<double>(tile_elements(g_, s) *
                               (loaded ? moved_bytes(g_, from) : g_.tiles->element_bytes));
  }
  double tiles_along(int width) const {
    const GraphIndex& index = g_.indices[static_cast<size_t>(width)];
    const int64_t tiles = index.extent / index.tiling.cluster;
    return static_cast<double>(tiles);
  }

  /// Computed is the longest of what a loop takes of the matrix unit, of the lanes and of links.
  /// Loads are asked as soon as there is room, so that their latency is only seen where a loop
  /// takes more tiles of one than there are copies.
  Work of_loop(const TileLoop& loop, double cores, int64_t turns) const {
    double matrix = 0, lanes = 0, waits = 0, sent = 0;
    Work work;
    const double tiles = loop.index < 0 ? 1 : tiles_along(loop.index);
    for (const NodeId n : loop.nodes) {
      const Node& at = node(n);
      if (at.kind == NodeKind::tile_multiply) matrix += tiles * product(at);
      if (at.kind == NodeKind::map || at.kind == NodeKind::reduce) {
        lanes += tiles * lane_cycles(kernel_lanes(g_, at), machine_);
      }
      if (at.kind == NodeKind::gather) {
        sent += tiles * (tiles_.wide - 1) *
                cycles_at(bytes(at.outputs[0]), machine_.link_bytes_per_cycle(tiles_.wide));
      }
      work.moved += tiles * cycles_at(moved_by(at), machine_.core.scratchpad_bytes_per_cycle);
      for (const LoadUse& taken : loads_of(at, tiles)) {
        const double time =
            taken.tiles * bytes(taken.stream) / rate(cores, taken.of_rows, !taken.by_threads);
        const bool kept = !taken.of_rows && copies_of(taken.stream) >= taken.tiles;
        (kept ? work.once : work.passed) += time;
        if (!kept) {
          work.moved += taken.tiles *
                        cycles_at(bytes(taken.stream), machine_.core.scratchpad_bytes_per_cycle);
        }
        const double rounds = taken.tiles / copies_of(taken.stream) - 1;
        if (!kept) waits = std::max(waits, rounds * latency(turns));
      }
    }
    const double pipelines = loop.index < 0
                                 ? 0
                                 : static_cast<double>(machine_.core.matrix_latency_cycles) +
                                       static_cast<double>(machine_.core.scratchpad_latency_cycles);
    work.computed = std::max({matrix, lanes, waits, sent}) + pipelines + link_latency();
    return work;
  }

  /// Bytes that the scratchpad reads and writes for a tile of a node, but for what loads write.
  double moved_by(const Node& at) const {
    if (at.kind == NodeKind::gather) return 2 * (tiles_.wide - 1) * bytes(at.outputs[0]);
    double moved = 0;
    for (const Input& input : at.inputs) {
      if (input.is_immediate()) continue;
      const Node& from = node(g_.streams[static_cast<size_t>(input.stream)].producer);
      const bool there = shape_.place_of[static_cast<size_t>(input.stream)] >= 0;
      if (there || from.kind == NodeKind::tile_load) moved += bytes(input.stream);
    }
    if (at.kind == NodeKind::tile_multiply) {
      const auto summed = static_cast<size_t>(rows_width(g_, at.inputs[0].stream));
      moved *= static_cast<double>(g_.indices[summed].extent);
    }
    for (const StreamId given : at.outputs) {
      if (shape_.place_of[static_cast<size_t>(given)] >= 0) moved += bytes(given);
    }
    return moved;
  }

  /// The stores of a tile of rows, each result once: into the scratchpad, and out of it.
  Work stored_in_turn(double cores) const {
    Work work;
    for (const NodeId n : shape_.stores) {
      const StreamId s = node(n).inputs[0].stream;
      const int width = rows_width(g_, s);
      const double stored = (width < 0 ? 1 : tiles_along(width)) *
                            static_cast<double>(tile_elements(g_, s) * moved_bytes(g_, node(n)));
      work.passed += stored / rate(cores, true);
      work.moved += cycles_at(2 * stored, machine_.core.scratchpad_bytes_per_cycle);
    }
    return work;
  }

  double link_latency() const {
    return tiles_.wide > 1 ? static_cast<double>(machine_.link_latency(tiles_.wide)) : 0;
  }

  /// The tiles of a product, of which one step is as long as its arithmetic or its operands.
  double product(const Node& at) const {
    const auto summed = static_cast<size_t>(rows_width(g_, at.inputs[0].stream));
    const auto column = static_cast<size_t>(rows_width(g_, at.outputs[0]));
    const int64_t m = g_.indices[kRowsM].block, a = g_.indices[summed].block,
                  b = g_.indices[column].block;
    const double work = machine_.matrix_work(m, b, a, g_.tiles->element_bytes) /
                        machine_.matrix_rate(g_.tiles->element_bytes);
    const double read = cycles_at(bytes(at.inputs[0].stream) + bytes(at.inputs[1].stream),
                                  machine_.core.scratchpad_bytes_per_cycle);
    return static_cast<double>(g_.indices[summed].extent) * std::max(work, read);
  }

  /// Tiles of a load that a node takes.
  struct LoadUse {
    StreamId stream;
    double tiles;
    bool of_rows;
    bool by_threads;
  };

  /// The loads of a node in a loop of `tiles` tiles of its width.
  std::vector<LoadUse> loads_of(const Node& at, double tiles) const {
    std::vector<LoadUse> all;
    for (size_t i = 0; i < at.inputs.size(); ++i) {
      if (at.inputs[i].is_immediate()) continue;
      const StreamId s = at.inputs[i].stream;
      const NodeId from = g_.streams[static_cast<size_t>(s)].producer;
      const Node& load = node(from);
      if (load.kind != NodeKind::tile_load) continue;
      const bool left = at.kind == NodeKind::tile_multiply && i == 0;
      double count = left ? 1 : tiles;
      if (at.kind == NodeKind::tile_multiply) {
        const auto summed = static_cast<size_t>(rows_width(g_, at.inputs[0].stream));
        count *= static_cast<double>(g_.indices[summed].extent);
      }
      all.push_back(
          {s, count, varies_along(g_, load)[kRowsM], by_threads_[static_cast<size_t>(from)]});
    }
    return all;
  }

  /// Copies of the buffer of a load.
  double copies_of(StreamId s) const {
    const NodeId load = g_.streams[static_cast<size_t>(s)].producer;
    const auto buffer = static_cast<size_t>(shape_.buffer_of[static_cast<size_t>(load)]);
    return static_cast<double>(shape_.buffers[buffer].copies);
  }

  /// The latency of a load: tiles that several turns take come from the L2.
  double latency(int64_t turns) const {
    const bool held = machine_.has_l2() && turns > 1;
    return static_cast<double>(
        (held ? machine_.l2.latency_cycles : machine_.global.latency_cycles) +
        machine_.core.scratchpad_latency_cycles + machine_.core.barrier_cycles);
  }

  /// Bytes a cycle of a core. Cores of a column of a cluster have the same weights, those of a row
  /// the same rows; `delivered`: by multicast, where there is one. Rows come from memory, each
  /// once; weights from the L2, where there is one.
  double rate(double cores, bool of_rows, bool delivered = true) const {
    double rate = machine_.core.port_bytes_per_cycle;
    const bool shares = machine_.links.multicast && delivered;
    const int together = shares ? (of_rows ? tiles_.wide : tiles_.tall) : 1;
    const double shared = shared_bytes_per_cycle(machine_);
    if (shared > 0) rate = std::min(rate, shared * together / cores);
    const double memory = machine_.global_bytes_per_cycle();
    if (of_rows && memory > 0) rate = std::min(rate, memory * tiles_.wide / cores);
    return rate;
  }

  const Graph& g_;
  const RowsTiles& tiles_;
  const Machine& machine_;
  const RowsShape shape_;
  const std::vector<bool> by_threads_;  ///< by node, of loads
};

/// The candidate with as many copies of its loads as fit; nothing where none fits.
std::optional<Candidate<RowsTiles>> fitting(const RowsForm& form, RowsTiles tiles,
                                            const Machine& machine) {
  for (const int64_t copies : kCopies) {
    tiles.copies = copies;
    tiles.accumulators = std::min<int64_t>(copies, 2);
    Candidate<RowsTiles> candidate{tiles, rows_graph(form, tiles), 0};
    const bool fits =
        fits_core(rows_need(candidate.graph), machine) && chip::fits_chip(candidate.graph, machine);
    if (!fits) continue;
    const Costs costs(candidate.graph, candidate.tiles, machine);
    if (costs.operations() > kMostOperations) return std::nullopt;
    candidate.cost = costs.all();
    return candidate;
  }
  return std::nullopt;
}

/// Bytes of the largest element of what rows are multiplied with.
int64_t weight_bytes(const RowsForm& form) {
  int64_t bytes = 0;
  for (const RowsTerm& term : form.terms) {
    if (!term.is_product()) continue;
    const TensorId weights = form.terms[static_cast<size_t>(term.children[1])].tensor;
    if (weights >= 0) bytes = std::max(bytes, form.tensors.at(weights).element_bytes);
  }
  return bytes > 0 ? bytes : 4;
}

std::vector<RowsTiles> shapes_of(const RowsForm& form, const Machine& machine) {
  int64_t widest = 1;
  for (size_t w = 0; w < form.widths.size(); ++w) {
    widest = std::max(widest, form.width(static_cast<int>(w)));
  }
  const bool built = chip::chip_of(machine).has_value();
  const int64_t unit = built ? chip::kUnit : 1;
  const int64_t columns_unit = built ? chip::depth_unit(weight_bytes(form)) : 1;
  std::vector<RowsTiles> all;
  for (const int64_t rows : even_blocks(form.rows(), kMostRows, unit)) {
    for (const int64_t column : power_blocks(widest, kMostColumns)) {
      for (int wide = 1; wide <= kLargestCluster && wide <= widest; wide *= 2) {
        for (int tall = 1; tall <= std::min(kMostTall, kLargestCluster / wide); ++tall) {
          const bool useful =
              tall == 1 || (machine.links.multicast && tall <= ceil_div(form.rows(), rows));
          if (!useful || machine.concurrent_clusters(tall * wide) < 1) continue;
          for (const bool keep : {false, true}) {
            all.push_back({rows, column, tall, wide, 1, keep, 1, columns_unit});
          }
        }
      }
    }
  }
  return all;
}

/// What tells the graphs of candidates apart: tiles along every width.
std::vector<int64_t> blocks_of(const RowsForm& form, const RowsTiles& tiles) {
  std::vector<int64_t> blocks{tiles.rows, tiles.tall, tiles.wide};
  for (size_t w = 0; w < form.widths.size(); ++w) {
    blocks.push_back(rows_column(form.width(static_cast<int>(w)), tiles));
  }
  return blocks;
}

/// What tells graphs with equal tiles apart: the room of their loads and products. (Weights are
/// also kept where there is room for all of them anyway.)
std::vector<int64_t> copies_of(const Graph& graph) {
  std::vector<int64_t> copies;
  for (const RowsBufferSize& buffer : rows_shape(graph).buffers) copies.push_back(buffer.copies);
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_multiply) copies.push_back(node.capacity);
  }
  return copies;
}

using RankedTiles = std::vector<RankedRows::Tiles>;

/// Those of least cost first, as many as are simulated.
RankedTiles candidates_of(const RowsForm& form, const Machine& machine) {
  RankedTiles all;
  std::set<std::pair<std::vector<int64_t>, bool>> tried;
  std::set<std::pair<std::vector<int64_t>, std::vector<int64_t>>> found;
  for (const RowsTiles& tiles : shapes_of(form, machine)) {
    std::vector<int64_t> blocks = blocks_of(form, tiles);
    if (!tried.insert({blocks, tiles.keep}).second) continue;
    const auto candidate = fitting(form, tiles, machine);
    if (!candidate) continue;
    if (found.insert({std::move(blocks), copies_of(candidate->graph)}).second) {
      all.push_back({candidate->tiles, candidate->cost});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.cost < b.cost; });
  all.resize(std::min(all.size(), kMostSimulated));
  return all;
}

/// What the candidates depend on. The graph with tiles of one element says all of the form.
std::string key_of(const RowsForm& form, const Machine& machine) {
  Key key;
  key.add(machine);
  key.add(rows_graph(form, {.rows = 1, .column = 1}));
  return key.value();
}

}  // namespace

/// Found by its arguments: what keeping the tiles takes (common/memo.h).
static size_t kept_bytes(const RankedTiles& all) {
  return all.size() * sizeof(RankedRows::Tiles);
}

double RankedRows::least_cycles() const {
  return all.empty() ? std::numeric_limits<double>::infinity() : kLeastOfCost * all.front().cost;
}

RankedRows rank_rows(const RowsForm& form, const Machine& machine) {
  static Memo<RankedTiles> memo(kMostKeptBytes);
  RankedRows ranked{key_of(form, machine), {}};
  ranked.all = memo.get(ranked.key, [&] { return candidates_of(form, machine); });
  return ranked;
}

std::optional<RowsPlan> fastest_rows(const RowsForm& form, const RankedRows& ranked,
                                     const Machine& machine, int64_t most_cycles) {
  static Memo<std::optional<RowsPlan>> memo(kMostKeptBytes);
  Key limit;
  limit.number(most_cycles);
  return memo.get(ranked.key + limit.value(), [&] {
    std::vector<Candidate<RowsTiles>> all;
    for (const RankedRows::Tiles& one : ranked.all) all.push_back({one.tiles, {}, one.cost});
    const auto best =
        fastest_of(std::move(all), kMostSimulated, most_cycles, machine,
                   [&](const auto& one) { return std::optional(rows_graph(form, one.tiles)); });
    return best ? std::optional(RowsPlan{best->tiles, best->measured}) : std::nullopt;
  });
}

}  // namespace fuseflow::cluster
