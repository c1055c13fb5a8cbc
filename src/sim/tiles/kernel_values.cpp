#include "sim/tiles/kernel_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "graph/tile_kernel.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/tile_math.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int64_t kTilesBetweenChecks = 64;

class KernelValues : private KernelTiles {
 public:
  KernelValues(const Program& program, const Graph& graph, const TensorData& data)
      : KernelTiles(graph),
        program_(program),
        roles_(kernel_roles(graph)),
        data_(data),
        of_core_(static_cast<size_t>(summing_cores(graph)), Values(graph.streams.size())) {
    for (const NodeId n : roles_.loads) require_dense(program_, data_, node(n).tensor);
  }

  /// Throws Error(rejected) where a tile that is left out as absent holds a value.
  void check_absent() {
    const NodeId load = load_of_absent_tiles(g_);
    if (load < 0) return;
    const bool by_batch = varies_along(g_, node(load))[kKernelG] || walks_differ_by_batch(g_);
    const KernelSizes tiles = kernel_tiles(g_);
    for (int64_t g = 0; g < (by_batch ? tiles[kKernelG] : 1); ++g) {
      for (int64_t m = 0; m < tiles[kKernelM]; ++m) {
        int64_t k = 0;
        for (const TileRange& range : kernel_walk(g_, m, g)) {
          check_absent(node(load), m, g, {k, range.begin});
          k = range.end;
        }
        check_absent(node(load), m, g, {k, tiles[kKernelK]});
      }
    }
  }

  /// The tile of the result at a place. Cores that share the columns, or parts of k, have values of
  /// their own up to the sum of them.
  const Tile& tile(const KernelTile& at) {
    const bool adds = adding_clusters(g_) > 1;
    for (int64_t cluster = 0; cluster < adding_clusters(g_); ++cluster) {
      for (size_t core = 0; core < of_core_.size(); ++core) steps_of(at, cluster, core);
      if (adds) add_parts(cluster == 0);
    }
    if (adds) of_core_[0][summed_stream(g_, roles_)] = sum_;
    for (const NodeId n : roles_.last) {
      if (!is_exchange(node(n))) {
        last(n, at);
      } else if (!adds) {
        exchange(node(n));
      }
    }
    core_ = 0;
    return value(node(roles_.store).inputs[0].stream);
  }

 private:
  using Values = std::vector<Tile>;  ///< by stream

  /// Where a core is: each has a tile of the columns that they share.
  void place(const KernelTile& at, size_t core) {
    core_ = core;
    at_[kKernelM] = at.m;
    at_[kKernelN] = column_cores(g_) > 1 ? at.n + static_cast<int64_t>(core) : at.n;
    at_[kKernelK] = 0;
    at_[kKernelG] = at.g;
  }

  /// The steps that a core of a cluster walks, of which several may add to the tile.
  void steps_of(const KernelTile& at, int64_t cluster, size_t core) {
    place(at, core);
    std::vector<TileRange> walk{{}};  // without reductions one step
    const int64_t own = depth_cores(g_) > 1 ? static_cast<int64_t>(core) : 0;
    if (!roles_.reductions.empty()) {
      walk = kernel_walk_of(g_, at.m, at.g, cluster * depth_cores(g_) + own);
    }
    if (walk.empty()) nothing_to_sum();
    bool first = true;
    for (const TileRange& range : walk) {
      for (int64_t k = range.begin; k < range.end; ++k) {
        at_[kKernelK] = k;
        for (const NodeId n : roles_.loads) load(n);
        for (const NodeId n : roles_.steps) step(node(n), first);
        first = false;
      }
    }
    for (const NodeId n : roles_.reductions) finish(node(n), kKernelK);
  }

  /// What clusters add to a tile in memory: the product, of each of their cores.
  void add_parts(bool first) {
    for (const Values& values : of_core_) {
      const Tile& part = values[static_cast<size_t>(node(roles_.reductions[0]).outputs[0])];
      if (first) sum_.assign(part.size(), 0.0F);
      first = false;
      for (size_t i = 0; i < part.size(); ++i) sum_[i] += part[i];
    }
  }

  /// What follows the steps: on each core up to the sum of which they have shares, then once.
  void last(NodeId n, const KernelTile& tile) {
    for (size_t core = 0; core < (n < roles_.scatter ? of_core_.size() : 1); ++core) {
      place(tile, core);
      is_second_product(g_, node(n)) ? whole_product(node(n), kKernelL, kKernelN)
                                     : compute(node(n));
    }
  }

  /// What all cores have, reduced in their order; the tile as a whole, of which a core may have a
  /// share only.
  void exchange(const Node& at) {
    const auto taken = static_cast<size_t>(at.inputs[0].stream);
    Tile whole(of_core_[0][taken].size(), identity(at.reduction));
    for (const Values& values : of_core_) {
      for (size_t i = 0; i < whole.size(); ++i) {
        whole[i] = combine(at.reduction, whole[i], values[taken][i]);
      }
    }
    for (Values& values : of_core_) values[at.outputs[0]] = whole;
  }

  Tile& value(StreamId s) override { return of_core_[core_][static_cast<size_t>(s)]; }

  void check_absent(const Node& from, int64_t m, int64_t g, const TileRange& absent) {
    const Storage& storage = *data_.find(from.tensor);
    TileAccess access(g_, from, dims_of(from.outputs[0]), kKernelG, storage.format, storage.shape);
    for (int64_t k = absent.begin; k < absent.end; ++k) {
      access.for_each(KernelSizes{m, 0, k, g}, [&](int64_t position) {
        const float held = element_at(storage, position);
        if (held != 0) refuse_absent(from, {m, 0, k, g}, position, held);
      });
    }
  }

  [[noreturn]] void refuse_absent(const Node& from, const KernelSizes& at, int64_t position,
                                  float held) const {
    const Tensor& tensor = program_.tensors[from.tensor];
    const std::string place =
        position < 0 ? "its fill"
                     : fmt::format("at {}", text_of(*data_.find(from.tensor), position));
    throw Error(ExitCode::rejected, tensor.where,
                fmt::format("`open` leaves out tile (m {}, k {}, g {}) of %{}, which holds {} {}; "
                            "expected a tile of zeros: plan the program for these data "
                            "(fuseflow-cluster)",
                            at[kKernelM], at[kKernelK], at[kKernelG], tensor.name, held, place));
  }

  /// "[3, 17]": the coordinates of a position of dense data.
  static std::string text_of(const Storage& storage, int64_t position) {
    std::vector<int64_t> coordinates(storage.shape.size());
    for (size_t l = coordinates.size(); l-- > 0;) {
      const auto d = static_cast<size_t>(storage.format.mode_order[l]);
      coordinates[d] = position % storage.shape[d];
      position /= storage.shape[d];
    }
    return fmt::format("[{}]", fmt::join(coordinates, ", "));
  }

  /// No step: a reduction is what it starts from, and what follows takes its loads.
  void nothing_to_sum() {
    for (const NodeId n : roles_.reductions) {
      const bool rows = node(n).kind == NodeKind::reduce;
      const size_t elements = block(kKernelM) * (rows ? 1 : block(kKernelN));
      value(node(n).outputs[0]).assign(elements, rows ? node(n).init : 0.0F);
    }
    for (const NodeId n : roles_.loads) {
      if (!varies_along(g_, node(n))[kKernelK]) load(n);
    }
  }

  void load(NodeId n) {
    const Node& from = node(n);
    Tile& out = value(from.outputs[0]);
    out.clear();
    load_tile(g_, from, *data_.find(from.tensor), kKernelG, at_, out);
  }

  /// What is no reduction and no product.
  void compute(const Node& at) { at.kind == NodeKind::tile_coordinate ? coordinate(at) : map(at); }

  void coordinate(const Node& at) {
    Tile& out = value(at.outputs[0]);
    out.clear();
    TileAccess access(g_, at, dims_of(at.outputs[0]), kKernelG);
    access.for_each_coordinate(at_, [&](int64_t c) { out.push_back(static_cast<float>(c)); });
  }

  void step(const Node& at, bool first) {
    if (at.kind == NodeKind::map || at.kind == NodeKind::tile_coordinate) return compute(at);
    if (!is_held_reduction(g_, at)) return whole_product(at, kKernelK, kKernelL);
    at.kind == NodeKind::reduce ? reduce(at, first) : multiply(at, first);
  }

  /// What is held so far; the second stream has what was held before this step.
  void reduce(const Node& at, bool first) {
    Tile& out = value(at.outputs[0]);
    if (first) out.assign(block(kKernelM), at.init);
    if (at.outputs.size() > 1) value(at.outputs[1]) = out;
    if (!first) rescale(at, out);
    reduce_rows(at, kKernelK, out);
  }

  void multiply(const Node& at, bool first) {
    Tile& out = value(at.outputs[0]);
    if (first) out.assign(block(kKernelM) * block(kKernelN), 0.0F);
    if (!first) rescale(at, out);
    multiply_add(at, kKernelK, out);
  }

  /// A product within a step or after the steps, which nothing was added to before.
  void whole_product(const Node& at, int columns, int summed) {
    Tile& out = value(at.outputs[0]);
    out.assign(block(kKernelM) * block(columns), 0.0F);
    multiply_add(at, summed, out);
  }

  /// Every row of what is held times its factor.
  void rescale(const Node& at, Tile& held) {
    const Input* factor = rescale_of(at);
    if (factor == nullptr) return;
    const Tile& by = value(factor->stream);
    const size_t cols = held.size() / by.size();
    for (size_t i = 0; i < held.size(); ++i) held[i] *= by[i / cols];
  }

  const Program& program_;
  const KernelRoles roles_;
  const TensorData& data_;
  std::vector<Values> of_core_;  ///< of the cores of a cluster that give parts of sums
  size_t core_ = 0;              ///< the one that is looked at
  Tile sum_;                     ///< of what clusters add
};

}  // namespace

std::shared_ptr<const Storage> kernel_values(const Program& program, const Graph& graph,
                                             const TensorData& data,
                                             const std::function<bool()>& go_on) {
  const Node& store = graph.nodes[kernel_roles(graph).store];
  KernelSizes size = kernel_elements(graph);
  if (has_second_product(graph)) size[kKernelN] = graph.indices[kKernelL].elements();
  TileResult result(program, store.tensor, {size[kKernelG], size[kKernelM], size[kKernelN]});
  KernelValues values(program, graph, data);
  values.check_absent();
  TileAccess to(graph, store, graph.streams[store.inputs[0].stream].block, kKernelG,
                result.tensor().format, result.shape());
  const int64_t parts = column_cores(graph);
  for (int64_t t = 0; t < kernel_tile_count(graph); t += parts) {
    if (t % (kTilesBetweenChecks * parts) == 0 && !go_on()) return nullptr;
    const KernelTile at = kernel_tile(graph, t);
    result.put(to, KernelSizes{at.m, at.n, 0, at.g}, values.tile(at));
  }
  return result.done(program);
}

}  // namespace fuseflow
