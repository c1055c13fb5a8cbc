#include "cluster/chain/product_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "cluster/chain/bound.h"
#include "cluster/chain/even_tiles.h"
#include "cluster/chain/reuse.h"
#include "cluster/chain/search.h"
#include "cluster/common/block_builder.h"
#include "cluster/common/load_cycles.h"
#include "sim/tiles/load_buffer.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/stop.h"

namespace fuseflow::cluster {

namespace {

/// What happens to one tile of sums.
struct TileEnd {
  int64_t elements = 0;  ///< of Y
  int64_t stored = 0;    ///< bytes that a block stores, or adds to the sums of others
  int64_t result = 0;    ///< ... of Y
  int64_t taken = 0;     ///< ... of the gate
  LaneWork lanes;
};
TileEnd tile_end(const ProductSize& size, const ProductPlan& plan) {
  TileEnd end;
  end.elements = plan.m * plan.n / (size.pairs ? 2 : 1);
  end.result = end.elements * size.bytes.y;
  end.stored = plan.split_k > 1 ? plan.m * plan.n * added_bytes(size.bytes.y) : end.result;
  end.taken = size.gate ? end.elements * size.bytes.gate : 0;
  LaneWork work = size.each;
  work.vector += (size.bias ? 1 : 0) + (size.gate || size.pairs ? 1 : 0);
  end.lanes = end.elements * work;
  return end;
}

/// Tensors of a kernel, as numbers of the tiles that an L2 knows.
enum Tensor : int64_t { kX, kW, kY, kBias, kGate, kTensors };

class ProductBuilder {
 public:
  ProductBuilder(const ProductSize& size, const ProductPlan& plan) : size_(size), plan_(plan) {}

  TileOps build() {
    for (int core = 0; core < plan_.cores(); ++core) build(core);
    return block_.take(plan_.cores());
  }

 private:
  /// The steps of one core of the cluster.
  void build(int core) {
    block_.core = static_cast<uint8_t>(core);
    x_ = w_ = LoadBuffer(plan_.stages);
    stored_ = kNone;
    const int64_t first_m = core / plan_.cores_n * plan_.steps_m;
    const int64_t first_n = core % plan_.cores_n * plan_.steps_n;
    for (int64_t im = first_m; im < first_m + plan_.steps_m; ++im) {
      for (int64_t in = first_n; in < first_n + plan_.steps_n; ++in) {
        output(im, in);
      }
    }
  }

  void output(int64_t im, int64_t in) {
    int32_t accumulator = kNone;
    const int64_t steps_k = size_.k / (plan_.k * plan_.split_k);
    for (int64_t ik = 0; ik < steps_k; ++ik) {
      const int32_t x = tile(x_, {kX, im * plan_.m, ik * plan_.k}, plan_.m * plan_.k, size_.bytes.x,
                             size_.x_by_threads);
      const int32_t w = tile(w_, {kW, ik * plan_.k, in * plan_.n}, plan_.k * plan_.n, size_.bytes.w,
                             size_.w_by_threads);
      TileOp product;
      product.kind = TileOpKind::multiply;
      product.multiply(plan_.m, plan_.n, plan_.k);
      product.bytes.scratchpad_read =
          plan_.m * plan_.k * size_.bytes.x + plan_.k * plan_.n * size_.bytes.w;
      product.bytes.registers = 2 * kAccumulatorBytes * plan_.m * plan_.n;
      accumulator =
          block_.add(product, {x, w, accumulator}, accumulator == kNone ? stored_ : kNone);
      x_.users() = w_.users() = {accumulator};
    }
    const TileKey y{kY, im * plan_.m, in * plan_.n};
    TileOp store = BlockBuilder::at(y);
    const TileEnd end = tile_end(size_, plan_);
    store.kind = TileOpKind::store;
    store.late = true;
    store.bytes.store(end.stored);
    store.adders = static_cast<int32_t>(plan_.split_k);
    if (store.adders > 1) {
      settle(block_.add(store, {accumulator}), store, end);
      return;
    }
    store.lanes = end.lanes;
    const int32_t bias =
        size_.bias ? block_.load({kBias, 0, y.col}, plan_.n, size_.bytes.bias, kNone, true) : kNone;
    const int32_t gate =
        size_.gate ? block_.load({kGate, y.row, y.col}, end.elements, size_.bytes.gate, kNone, true)
                   : kNone;
    stored_ = block_.add(store, {accumulator, bias, gate});
  }

  /// What follows the sums is done by the last that adds to them, which then knows that it is: its
  /// bias and gate come with the sums, from an L2 where there is one.
  void settle(int32_t added, const TileOp& store, const TileEnd& end) {
    TileOp settle = settle_after(store, end.result);
    settle.lanes = end.lanes;
    settle.bytes.global_read += end.taken + (size_.bias ? plan_.n * size_.bytes.bias : 0);
    stored_ = block_.add(settle, {added});
  }

  int32_t tile(LoadBuffer& buffer, const TileKey& key, int64_t elements, int64_t element_bytes,
               bool alone) {
    return buffer.get(key, [&](const std::vector<int32_t>& room) {
      return block_.load(key, elements, element_bytes, room.empty() ? kNone : room.front(), alone);
    });
  }

  const ProductSize& size_;
  const ProductPlan& plan_;
  BlockBuilder block_;
  LoadBuffer x_, w_;
  int32_t stored_ = kNone;
};

/// Cores of a cluster that share a tile of X, and of W.
int64_t x_sharers(const ProductSize& size, const ProductPlan& plan) {
  return size.x_by_threads ? 1 : plan.cores_n;
}
int64_t w_sharers(const ProductSize& size, const ProductPlan& plan) {
  return size.w_by_threads ? 1 : plan.cores_m;
}

/// Rows and columns of Y that a cluster computes.
int64_t cluster_rows(const ProductPlan& plan) {
  return plan.m * plan.steps_m * plan.cores_m;
}
int64_t cluster_cols(const ProductPlan& plan) {
  return plan.n * plan.steps_n * plan.cores_n;
}

/// Clusters of a kernel along M, N and K.
Extents clusters_along(const ProductSize& size, const ProductPlan& plan) {
  return {{size.m / cluster_rows(plan), size.n / cluster_cols(plan), plan.split_k, 1}};
}

int64_t clusters_of(const ProductSize& size, const ProductPlan& plan) {
  const Extents along = clusters_along(size, plan);
  return along[Dim::m] * along[Dim::n] * along[Dim::k];
}

int64_t blocks_of(const ProductSize& size, const ProductPlan& plan) {
  return clusters_of(size, plan) * plan.cores();
}

/// Rows of clusters that are walked together, column by column: of the powers of two the one with
/// which those that run at a time load the fewest different bytes.
int64_t rows_together(const ProductSize& size, const ProductPlan& plan, const Machine& machine) {
  const Extents along = clusters_along(size, plan);
  const int64_t wave = machine.concurrent_clusters(plan.cores());
  int64_t best = 1, least = 0;
  for (int64_t rows = 1; rows <= std::min(along[Dim::m], wave); rows *= 2) {
    const int64_t cols = std::min(ceil_div(wave, rows), along[Dim::n]);
    const int64_t loaded = rows * cluster_rows(plan) + cols * cluster_cols(plan);
    const int64_t missing = wave - rows * cols;  // further rows, each loaded for its few columns
    const int64_t cost = loaded + std::max<int64_t>(missing, 0) * cluster_rows(plan);
    if (least == 0 || cost < least) {
      least = cost;
      best = rows;
    }
  }
  return best;
}

/// Where each cluster's tiles are, in the order in which they are started.
TilePlaces places_of(const ProductSize& size, const ProductPlan& plan, const Machine& machine) {
  TilePlaces places;
  const Extents along = clusters_along(size, plan);
  const int64_t group = rows_together(size, plan, machine);
  for (int64_t k = 0; k < along[Dim::k]; ++k) {
    for (int64_t first = 0; first < along[Dim::m]; first += group) {
      for (int64_t n = 0; n < along[Dim::n]; ++n) {
        for (int64_t m = first; m < std::min(first + group, along[Dim::m]); ++m) {
          places.clusters.push_back({{m, n, k, 0}});
        }
      }
    }
  }
  const int64_t m = cluster_rows(plan), n = cluster_cols(plan), k = size.k / plan.split_k;
  places.nodes.resize(kTensors);
  places.nodes[kX] = {{{m, 0, 0, 0}}, {{0, 0, k, 0}}};
  places.nodes[kW] = {{{0, 0, k, 0}}, {{0, n, 0, 0}}};
  places.nodes[kY] = places.nodes[kGate] = {{{m, 0, 0, 0}}, {{0, n, 0, 0}}};
  places.nodes[kBias] = {{{0, 0, 0, 0}}, {{0, n, 0, 0}}};
  return places;
}

/// The tiles of a tensor of `rows` x `cols` elements, row after row.
void hold_all(Tensor tensor, std::array<int64_t, 2> extent, std::array<int64_t, 2> tile,
              int64_t element_bytes, HeldTiles& held) {
  const auto [rows, cols] = extent;
  const auto [height, width] = tile;
  for (int64_t row = 0; row < rows; row += height) {
    for (int64_t col = 0; col < cols; col += width) {
      held.push_back({{tensor, row, col}, height * width * element_bytes});
    }
  }
}

HeldTiles held_before(const ProductSize& size, const ProductPlan& plan, const Machine& machine) {
  HeldTiles held;
  if (!machine.has_l2() || !size.follows) return held;
  hold_all(kX, {size.m, size.k}, {plan.m, plan.k}, size.bytes.x, held);
  if (size.gate) hold_all(kGate, {size.m, size.n}, {plan.m, plan.n}, size.bytes.gate, held);
  return held;
}

Measured measure_product(const ProductSize& size, const ProductPlan& plan, const Machine& machine,
                         int64_t most_cycles = 0) {
  stop_if_asked();
  const TileOps graph = ProductBuilder(size, plan).build();
  const std::vector<int32_t> which(static_cast<size_t>(clusters_of(size, plan)), 0);
  const TilePlaces places = places_of(size, plan, machine);
  LaunchOptions options;
  options.element_bytes = size.bytes.work();
  options.most_cycles = most_cycles;
  options.places = &places;
  options.held = held_before(size, plan, machine);
  return time_launch(machine, {&graph}, which, options);
}

struct RankedProduct {
  double cost = 0;
  double global = 0;
  int64_t tiles = 0;
  int64_t number = 0;
  int64_t least = 0;  ///< bound of the cycles
  ProductSize size;   ///< what whole tiles cover
  ProductPlan plan;
  bool operator<(const RankedProduct& other) const {
    return std::tie(cost, global, tiles, number) <
           std::tie(other.cost, other.global, other.tiles, other.number);
  }
};

/// Bytes that all who finish sums load and store: the sums, zeros, what they make of them.
struct SettledBytes {
  int64_t loaded = 0, stored = 0;
  int64_t all() const { return loaded + stored; }
};
SettledBytes settled_bytes(const ProductSize& size, const ProductPlan& plan) {
  if (plan.split_k == 1) return {};
  const TileEnd end = tile_end(size, plan);
  const int64_t tiles = size.m / plan.m * (size.n / plan.n);
  return {tiles * (end.stored + end.taken), tiles * (end.stored + end.result)};
}

/// Bytes that DRAM moves for a product.
struct MovedBytes {
  double about = 0;
  int64_t least = 0;
};

/// `loaded`: bytes of X and W that all blocks load.
MovedBytes memory_bytes(const ProductSize& size, const ProductPlan& plan,
                        std::array<int64_t, 2> loaded, const Machine& machine) {
  const int64_t blocks = blocks_of(size, plan);
  const int64_t x = size.follows ? 0 : size.m * size.k * size.bytes.x;
  const int64_t w = size.k * size.n * size.bytes.w;
  const int64_t y = size.m * size.n / (size.pairs ? 2 : 1) * size.bytes.y;
  if (!machine.has_l2()) {
    const int64_t tiles = blocks * plan.steps_m * plan.steps_n;
    const TileEnd end = tile_end(size, plan);
    const int64_t once = loaded[0] / x_sharers(size, plan) + loaded[1] / w_sharers(size, plan);
    const int64_t gates = plan.split_k > 1 ? 0 : tiles * end.taken;
    const int64_t stored = tiles * end.stored * (plan.split_k > 1 ? 2 : 1);  // sums are read first
    const int64_t all = once + gates + stored + settled_bytes(size, plan).all();
    return {static_cast<double>(all), all};
  }
  const int64_t least = x + w + y;
  // Sums are in memory before and after.
  const int64_t sums = plan.split_k > 1 ? 2 * size.m * size.n * added_bytes(size.bytes.y) : 0;
  if (least <= machine.l2.capacity_bytes) return {static_cast<double>(least + sums), least};
  const int64_t rows = rows_together(size, plan, machine);
  const int64_t cols = std::clamp<int64_t>(machine.concurrent_clusters(plan.cores()) / rows, 1,
                                           clusters_along(size, plan)[Dim::n]);
  const auto once = [&](int64_t bytes, int64_t distinct, int64_t together) {
    return read_once_together(static_cast<double>(bytes), static_cast<double>(distinct),
                              static_cast<double>(together));
  };
  return {once(loaded[0], x, cols * plan.cores_n) + once(loaded[1], w, rows * plan.cores_m) +
              static_cast<double>(y + sums),
          least};
}

/// Cycles by the same cost model as fused plans: the slowest of global memory, scratchpad and
/// matrix units, times the waves.
RankedProduct cost_product(const ProductSize& size, const ProductPlan& p, const Machine& machine) {
  const int64_t steps_k = size.k / (p.k * p.split_k);
  const int64_t tiles = p.steps_m * p.steps_n;
  const int64_t x_loads = steps_k == 1 ? p.steps_m : tiles * steps_k;
  const int64_t w_loads = steps_k == 1 && p.steps_m > 1 ? p.steps_n : tiles * steps_k;
  const TileEnd end = tile_end(size, p);
  const bool adds = p.split_k > 1;
  const int64_t x_tile = p.m * p.k * size.bytes.x, w_tile = p.k * p.n * size.bytes.w;
  const int64_t loaded = x_loads * x_tile + w_loads * w_tile + (adds ? 0 : tiles * end.taken);
  const int64_t stored = tiles * end.stored;
  const int64_t blocks = blocks_of(size, p);
  const int64_t at_a_time = machine.concurrent_clusters(p.cores());
  const auto waves = static_cast<double>(ceil_div(clusters_of(size, p), at_a_time));
  const auto block_bytes = static_cast<double>(loaded + stored);
  RankedProduct ranked;
  ranked.size = size;
  ranked.plan = p;
  const double lanes = lane_cycles(end.lanes, machine);
  const SettledBytes settled = settled_bytes(size, p);
  ranked.global = static_cast<double>(blocks) * block_bytes + static_cast<double>(settled.all());
  const double at_work = static_cast<double>(std::min(blocks, at_a_time * p.cores()));
  const int64_t x_bytes = blocks * x_loads * x_tile, w_bytes = blocks * w_loads * w_tile;
  const MovedBytes dram = memory_bytes(size, p, {x_bytes, w_bytes}, machine);
  const int64_t of_x = x_sharers(size, p), of_w = w_sharers(size, p);
  const int64_t once =
      x_bytes / of_x * (of_x - 1) + w_bytes / of_w * (of_w - 1);  // multicast to the others
  const double given = static_cast<double>(blocks * loaded - once + settled.loaded) +
                       as_loaded(static_cast<double>(blocks * stored), adds, machine) +
                       as_loaded(static_cast<double>(settled.stored), false, machine);
  const SharedMemory memory = shared_memory({ranked.global, given, dram.about}, at_work, machine);
  const auto step_bytes = static_cast<double>(x_tile + w_tile);
  const double rate = std::min(memory.rate, static_cast<double>(p.stages) * step_bytes /
                                                (memory.latency + step_bytes / memory.rate));
  const double global =
      waves * (block_bytes / rate + 2 * static_cast<double>(machine.global.latency_cycles));
  const double operands =
      static_cast<double>(tiles * steps_k * (x_tile + w_tile) + loaded + 2 * stored);
  const double work =
      static_cast<double>(tiles * steps_k) * machine.matrix_work(p.m, p.n, p.k, size.bytes.work());
  const double work_cycles = work / machine.matrix_rate(size.bytes.work());
  ranked.cost = std::max({global, waves * operands / machine.core.scratchpad_bytes_per_cycle,
                          waves * (work_cycles + (adds ? 0 : static_cast<double>(tiles) * lanes))});
  const Settling settling{adds ? end.stored : 0, end.result, lanes};
  ranked.cost += settle_cycles(settling, machine);
  ranked.tiles = blocks * tiles * steps_k;
  ranked.least =
      least_cycles({p.m, p.n, p.k, tiles * steps_k, x_loads, w_loads, p.stages, size.bytes.x,
                    size.bytes.w, end.stored, loaded + stored, static_cast<int64_t>(operands),
                    settling, dram.least, lanes, p.cores(), given},
                   blocks, machine);
  return ranked;
}

/// Clusters of the blocks of a product, along M and N.
using ProductClusters = std::vector<std::array<int64_t, 2>>;

/// Those that are searched together, each search with the whole effort: what pairs of cores add is
/// not paid for by what single ones find.
std::vector<ProductClusters> product_searches(const Machine& machine) {
  std::vector<ProductClusters> searches = {{{1, 1}}};
  const bool pairs = machine.links.multicast && machine.concurrent_clusters(2) > 0;
  if (pairs) searches.push_back({{2, 1}, {1, 2}});
  return searches;
}

/// Tiles along m, n and k that are searched together, with what whole steps of them cover.
using TilesAlong = std::array<std::vector<EvenTile>, 3>;

TilesAlong published_tiles(const ProductSize& size) {
  TilesAlong tiles;
  const std::array<int64_t, 3> padded{size.m, size.n, size.k};
  for (size_t d = 0; d < tiles.size(); ++d) {
    for (const int64_t tile : tile_sizes(padded[d])) tiles[d].push_back({tile, padded[d]});
  }
  return tiles;
}

/// Tiles that cut the extents without padding evenly (even_tiles.h).
TilesAlong tiles_that_cut_evenly(const ProductSize& size) {
  TilesAlong tiles;
  const std::array<int64_t, 3> padded{size.m, size.n, size.k};
  for (size_t d = 0; d < tiles.size(); ++d) {
    tiles[d] = even_tiles(size.actual[d] > 0 ? size.actual[d] : padded[d], 1);
  }
  return tiles;
}

/// Every walk and split of a tile that fits a core, in each of these clusters.
template <typename Visit>
void for_each_walk(const ProductSize& size, ProductPlan p, const Machine& machine,
                   const ProductClusters& clusters, const Visit& visit) {
  constexpr std::array<int64_t, 5> kFactors{1, 2, 4, 8, 16};
  const int64_t buffer = p.m * p.k * size.bytes.x + p.k * p.n * size.bytes.w;
  if (p.m * p.n * kAccumulatorBytes > machine.core.register_bytes ||
      buffer > machine.core.scratchpad_bytes) {
    return;
  }
  p.stages = std::min(kStages, machine.core.scratchpad_bytes / buffer);
  for (const int64_t steps : kFactors) {
    for (const bool along_n : {false, true}) {
      p.steps_m = along_n ? 1 : steps;
      p.steps_n = along_n ? steps : 1;
      for (const int64_t split : kFactors) {
        p.split_k = split;
        if (size.k % (p.k * split) != 0 || (along_n && steps == 1)) continue;
        for (const auto& [cores_m, cores_n] : clusters) {
          p.cores_m = cores_m, p.cores_n = cores_n;
          if (size.m % cluster_rows(p) == 0 && size.n % cluster_cols(p) == 0) visit(size, p);
        }
      }
    }
  }
}

/// Every walk and split of all these tiles but those of `without`.
template <typename Visit>
void for_each_product(const ProductSize& size, const Machine& machine,
                      const ProductClusters& clusters, const TilesAlong& tiles,
                      const TilesAlong& without, const Visit& visit) {
  const auto among = [&](size_t d, const EvenTile& tile) {
    return std::find(without[d].begin(), without[d].end(), tile) != without[d].end();
  };
  for (const EvenTile& m : tiles[0]) {
    for (const EvenTile& n : tiles[1]) {
      for (const EvenTile& k : tiles[2]) {
        if (among(0, m) && among(1, n) && among(2, k)) continue;
        ProductSize covered = size;
        covered.m = m.covered, covered.n = n.covered, covered.k = k.covered;
        ProductPlan plan;
        plan.m = m.tile, plan.n = n.tile, plan.k = k.tile;
        for_each_walk(covered, plan, machine, clusters, visit);
      }
    }
  }
}

std::vector<RankedProduct> ranked_products(const ProductSize& size, const Machine& machine,
                                           const ProductClusters& clusters, const TilesAlong& tiles,
                                           const TilesAlong& without) {
  std::vector<RankedProduct> all;
  for_each_product(size, machine, clusters, tiles, without,
                   [&](const ProductSize& covered, const ProductPlan& plan) {
                     all.push_back(cost_product(covered, plan, machine));
                     all.back().number = static_cast<int64_t>(all.size());
                   });
  std::sort(all.begin(), all.end());
  return all;
}

/// In the order of the searches: published tiles in each set of clusters, then other even ones.
std::vector<std::vector<RankedProduct>> all_searches(const ProductSize& size,
                                                     const Machine& machine) {
  const TilesAlong published = published_tiles(size), even = tiles_that_cut_evenly(size);
  std::vector<std::vector<RankedProduct>> searches;
  for (const ProductClusters& clusters : product_searches(machine)) {
    searches.push_back(ranked_products(size, machine, clusters, published, {}));
  }
  for (const ProductClusters& clusters : product_searches(machine)) {
    searches.push_back(ranked_products(size, machine, clusters, even, published));
  }
  return searches;
}

void add_log(const SearchLog& more, SearchLog& log) {
  if (more.left > 0) {
    log.least_left = log.left > 0 ? std::min(log.least_left, more.least_left) : more.least_left;
  }
  log.candidates += more.candidates;
  log.simulated += more.simulated;
  log.bounded += more.bounded;
  log.left += more.left;
  log.operations += more.operations;
}

/// The fastest of these, where it is faster than what `best` has.
void search_products(const std::vector<RankedProduct>& all, const Machine& machine,
                     const Effort& effort, MeasuredProduct& best) {
  const auto simulate = [&](size_t i, int64_t most) {
    const Measured measured = measure_product(all[i].size, all[i].plan, machine, most);
    if (measured.finished &&
        (best.measured.cycles == 0 || measured.cycles < best.measured.cycles)) {
      best.size = all[i].size;
      best.plan = all[i].plan;
      best.measured = measured;
    }
    return Trial{measured.cycles, measured.nodes, measured.finished};
  };
  const auto least = [&](size_t i) { return all[i].least; };
  add_log(find_fastest(all.size(), least, simulate, effort, best.measured.cycles).log, best.log);
}

}  // namespace

Measured best_product_of_all(const ProductSize& size, const Machine& machine) {
  Measured best;
  for (const std::vector<RankedProduct>& search : all_searches(size, machine)) {
    for (const RankedProduct& product : search) {
      const Measured measured = measure_product(product.size, product.plan, machine);
      if (best.cycles == 0 || measured.cycles < best.cycles) best = measured;
    }
  }
  return best;
}

MeasuredProduct find_product(const ProductSize& size, const Machine& machine,
                             const Effort& effort) {
  MeasuredProduct best;
  for (const std::vector<RankedProduct>& search : all_searches(size, machine)) {
    search_products(search, machine, effort, best);
  }
  if (best.measured.cycles == 0) {
    throw Error(ExitCode::rejected, fmt::format("no tile of a product {}x{}x{} fits machine {}",
                                                size.m, size.n, size.k, machine.name));
  }
  return best;
}

Measured best_product(const ProductSize& size, const Machine& machine, const Effort& effort) {
  return find_product(size, machine, effort).measured;
}

namespace {

/// The largest tile of at most `most` that divides.
int64_t fixed_tile(int64_t size, int64_t most) {
  int64_t tile = 16;
  while (tile * 2 <= most && size % (tile * 2) == 0) tile *= 2;
  return tile;
}

}  // namespace

Measured fixed_product(const ProductSize& size, const Machine& machine) {
  ProductPlan plan;
  plan.m = fixed_tile(size.m, 128);
  plan.n = fixed_tile(size.n, 128);
  plan.k = fixed_tile(size.k, 64);
  plan.stages = kStages;
  return measure_product(size, plan, machine);
}

}  // namespace fuseflow::cluster
