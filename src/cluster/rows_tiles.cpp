#include "cluster/rows_tiles.h"

#include <algorithm>
#include <array>
#include <set>

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
constexpr double kMostOperations = 1 << 20;            ///< products of tiles, of all cores
constexpr std::array<int64_t, 4> kCopies{8, 4, 2, 1};  ///< of loads, as many as fit

/// A rate of 0 is free.
double time_at(double work, double rate) {
  return rate > 0 ? work / rate : 0;
}

/// What one core does for one tile of rows.
class Costs {
 public:
  Costs(const Graph& graph, const RowsTiles& tiles, const Machine& machine)
      : g_(graph), tiles_(tiles), machine_(machine), shape_(rows_shape(graph)) {}

  double all() const {
    const RowsCluster cluster = rows_cluster(g_);
    const int64_t at_a_time = std::max<int64_t>(machine_.concurrent_clusters(cluster.cores()), 1);
    const int64_t groups = rows_tiles(g_) / cluster.rows;
    const double cores =
        static_cast<double>(std::min(groups, at_a_time)) * static_cast<double>(cluster.cores());
    const int64_t turns = ceil_div(groups, at_a_time);
    double once = 0, each = 0;
    for (const RowsLoop& loop : shape_.loops) each += of_loop(loop, cores, turns, once);
    return static_cast<double>(turns) * each + once;
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
    const int64_t tiles = index.extent / index.cluster;
    return static_cast<double>(tiles);
  }

  double of_loop(const RowsLoop& loop, double cores, int64_t turns, double& once) const {
    double matrix = 0, lanes = 0, loaded = 0;
    const double tiles = loop.width < 0 ? 1 : tiles_along(loop.width);
    for (const NodeId n : loop.nodes) {
      const Node& at = node(n);
      if (at.kind == NodeKind::tile_multiply) matrix += tiles * product(at);
      if (at.kind == NodeKind::map || at.kind == NodeKind::reduce) {
        lanes += tiles * lane_cycles(kernel_lanes(g_, at), machine_);
      }
      loaded += loads_of(at, tiles, cores, turns, once);
    }
    const double latency = loop.width < 0
                               ? 0
                               : static_cast<double>(machine_.core.matrix_latency_cycles) +
                                     static_cast<double>(machine_.core.scratchpad_latency_cycles);
    return std::max({matrix, lanes, loaded}) + latency + link_latency();
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
    const double read = time_at(bytes(at.inputs[0].stream) + bytes(at.inputs[1].stream),
                                machine_.core.scratchpad_bytes_per_cycle);
    return static_cast<double>(g_.indices[summed].extent) * std::max(work, read);
  }

  /// Cycles of a node's loads, of the port or of the core's share of the L2.
  double loads_of(const Node& at, double tiles, double cores, int64_t turns, double& once) const {
    double time = 0;
    for (size_t i = 0; i < at.inputs.size(); ++i) {
      if (at.inputs[i].is_immediate()) continue;
      const StreamId s = at.inputs[i].stream;
      const Node& load = node(g_.streams[static_cast<size_t>(s)].producer);
      if (load.kind != NodeKind::tile_load) continue;
      const bool left = at.kind == NodeKind::tile_multiply && i == 0;
      double count = left ? 1 : tiles;
      if (at.kind == NodeKind::tile_multiply) {
        const auto summed = static_cast<size_t>(rows_width(g_, at.inputs[0].stream));
        count *= static_cast<double>(g_.indices[summed].extent);
      }
      const bool of_rows = rows_varies_along(g_, load)[kRowsM];
      const double copies = std::min(copies_of(s), count);
      const double taken =
          count * std::max(bytes(s) / rate(cores, of_rows), latency(turns) / copies);
      (tiles_.keep && !of_rows ? once : time) += taken;
    }
    return time;
  }

  /// Copies of the buffer of a load.
  double copies_of(StreamId s) const {
    const NodeId load = g_.streams[static_cast<size_t>(s)].producer;
    const auto buffer = static_cast<size_t>(shape_.buffer_of[static_cast<size_t>(load)]);
    return static_cast<double>(shape_.buffers[buffer].copies);
  }

  /// Of a load: tiles that several turns take come from the L2.
  double latency(int64_t turns) const {
    const bool held = machine_.has_l2() && turns > 1;
    return static_cast<double>((held ? machine_.l2.latency_cycles : machine_.dram.latency_cycles) +
                               machine_.core.scratchpad_latency_cycles +
                               machine_.core.barrier_cycles);
  }

  /// Cores of a column of a cluster have the same weights, those of a row the same rows.
  double rate(double cores, bool of_rows) const {
    double rate = machine_.core.port_bytes_per_cycle;
    if (!machine_.has_l2()) return rate;
    const int together = machine_.links.multicast ? (of_rows ? tiles_.wide : tiles_.tall) : 1;
    return std::min(rate, machine_.l2.bytes_per_cycle * together / cores);
  }

  const Graph& g_;
  const RowsTiles& tiles_;
  const Machine& machine_;
  const RowsShape shape_;
};

/// As many copies as fit.
std::optional<Candidate<RowsTiles>> fitting(const RowsForm& form, RowsTiles tiles,
                                            const Machine& machine) {
  for (const int64_t copies : kCopies) {
    tiles.copies = copies;
    tiles.accumulators = std::min<int64_t>(copies, 2);
    Candidate<RowsTiles> candidate{tiles, rows_graph(form, tiles), 0};
    if (!fits_core(rows_need(candidate.graph), machine)) continue;
    const Costs costs(candidate.graph, candidate.tiles, machine);
    if (costs.operations() > kMostOperations) return std::nullopt;
    candidate.cost = costs.all();
    return candidate;
  }
  return std::nullopt;
}

std::vector<RowsTiles> shapes_of(const RowsForm& form, const Machine& machine) {
  int64_t widest = 1;
  for (size_t w = 0; w < form.widths.size(); ++w) {
    widest = std::max(widest, form.width(static_cast<int>(w)));
  }
  std::vector<RowsTiles> all;
  for (const int64_t rows : even_blocks(form.rows(), kMostRows)) {
    for (const int64_t column : power_blocks(widest, kMostColumns)) {
      for (int wide = 1; wide <= kLargestCluster && wide <= widest; wide *= 2) {
        for (int tall = 1; tall <= std::min(kMostTall, kLargestCluster / wide); ++tall) {
          const bool useful =
              tall == 1 || (machine.links.multicast && tall <= ceil_div(form.rows(), rows));
          if (!useful || machine.concurrent_clusters(tall * wide) < 1) continue;
          for (const bool keep : {false, true}) {
            all.push_back({rows, column, tall, wide, 1, keep, 1});
          }
        }
      }
    }
  }
  return all;
}

/// What tells the graphs of candidates apart: tiles along every width.
std::vector<int64_t> blocks_of(const RowsForm& form, const RowsTiles& tiles) {
  std::vector<int64_t> blocks{tiles.rows, tiles.tall, tiles.wide, tiles.keep ? 1 : 0};
  for (size_t w = 0; w < form.widths.size(); ++w) {
    blocks.push_back(rows_column(form.width(static_cast<int>(w)), tiles));
  }
  return blocks;
}

std::vector<Candidate<RowsTiles>> candidates_of(const RowsForm& form, const Machine& machine) {
  std::vector<Candidate<RowsTiles>> all;
  std::set<std::vector<int64_t>> seen;
  for (const RowsTiles& tiles : shapes_of(form, machine)) {
    if (!seen.insert(blocks_of(form, tiles)).second) continue;
    if (auto candidate = fitting(form, tiles, machine)) all.push_back(std::move(*candidate));
  }
  return all;
}

}  // namespace

double rows_cost(const Graph& graph, const RowsTiles& tiles, const Machine& machine) {
  return Costs(graph, tiles, machine).all();
}

std::optional<RowsPlan> fastest_rows(const RowsForm& form, const Machine& machine,
                                     int64_t most_cycles) {
  return fastest_of(candidates_of(form, machine), kMostSimulated, most_cycles, machine);
}

}  // namespace fuseflow::cluster
