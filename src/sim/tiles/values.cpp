#include "sim/tiles/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/tile_kernel.h"
#include "graph/tile_loop.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"
#include "sim/common/written_tensors.h"
#include "sim/tiles/absent_tiles.h"
#include "sim/tiles/sums.h"
#include "sim/tiles/tile_math.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Computes what the outer loops of a graph walk, step by step.
class TileValues : private TileNodes {
 public:
  TileValues(const Graph& graph, const TensorData& data)
      : TileNodes(graph),
        batch_(batch_dim(graph)),
        loops_(tile_loops(graph)),
        sums_(graph),
        data_(data) {
    if (is_tile_kernel(graph)) roles_ = kernel_roles(graph);
    cores_.resize(roles_.held() ? static_cast<size_t>(depth_cores(graph)) : 1);
    find_places();
  }

  const TileLoops& loops() const { return loops_; }
  const std::vector<int64_t>& at() const { return at_; }

  int64_t steps() const {
    int64_t steps = 1;
    for (const int dim : loops_.outer) steps *= index(dim).extent;
    return steps;
  }

  /// Calls `store(summed)` where results are there: of a chain for each of the clusters that add to
  /// them; `summed` is the stream of which a cluster but the first stores its part, or -1.
  template <typename Store>
  void step(int64_t number, const Store& store) {
    for (size_t d = loops_.outer.size(); d-- > 0;) {
      const auto dim = static_cast<size_t>(loops_.outer[d]);
      at_[dim] = number % g_.indices[dim].extent;
      number /= g_.indices[dim].extent;
    }
    for (int64_t cluster = 0; cluster < sums_.clusters(); ++cluster) {
      sums_.begin(cluster);
      for (const TileLoop& loop : loops_.loops) loop.index < 0 ? once(loop) : walk(loop);
      store(cluster > 0 ? summed_of_chain() : -1);
    }
  }

  /// The tile of a stream, at a tile along a dimension (-1: it is the only one).
  const Tile& stored(StreamId s, int dim, int64_t tile) {
    if (dim >= 0) at_[dim] = tile;
    return value(s);
  }

 private:
  // --- tiles -------------------------------------------------------------------------------

  /// A tile that is there; of a load which of its tiles.
  struct CurrentTile {
    int64_t number = -1;
    Tile tile;
  };
  /// By stream and its tile along the dimensions that inner loops walk.
  using OfCore = std::vector<std::vector<CurrentTile>>;

  /// Tiles along the dimensions of inner loops are there until the outer ones step. What is loaded
  /// once for a step of them stays for the next steps where it is the same.
  void find_places() {
    std::vector<bool> walked(g_.indices.size(), false);
    for (const TileLoop& loop : loops_.loops) {
      if (loop.index >= 0 && !roles_.held()) walked[loop.index] = true;
    }
    const bool rows = is_tile_rows(g_);
    kept_.resize(g_.streams.size());
    varies_.resize(g_.streams.size());
    for (size_t s = 0; s < g_.streams.size(); ++s) {
      const Node& from = node(g_.streams[s].producer);
      const bool loaded = from.kind == NodeKind::tile_load;
      if (loaded) {
        const std::vector<bool> varies = varies_along(g_, from);
        for (size_t d = 0; d < varies.size(); ++d) {
          if (varies[d]) varies_[s].push_back(static_cast<int>(d));
        }
      }
      int64_t places = 1;
      for (const int dim : g_.streams[s].block) {
        if (!walked[dim] || (loaded && !rows)) continue;
        kept_[s].push_back(dim);
        places *= index(dim).extent;
      }
      for (OfCore& core : cores_) core.emplace_back(static_cast<size_t>(places));
    }
  }

  int64_t number_along(const std::vector<int>& dims) const {
    int64_t number = 0;
    for (const int dim : dims) number = number * index(dim).extent + at_[dim];
    return number;
  }

  Tile& value(StreamId s) override {
    CurrentTile& held = cores_[core_][s][number_along(kept_[s])];
    const Node& from = node(g_.streams[s].producer);
    if (from.kind != NodeKind::tile_load) return held.tile;
    const int64_t number = number_along(varies_[s]);
    if (held.number == number) return held.tile;
    held.number = number;
    held.tile.clear();
    const Storage& storage = *data_.find(from.tensor);
    const TileAccess access(g_, from, dims_of(s), batch_, storage.format, storage.shape);
    access.for_each(at_, [&](int64_t at) { held.tile.push_back(element_at(storage, at)); });
    return held.tile;
  }

  // --- loops -------------------------------------------------------------------------------

  /// What cores of a cluster walk in parts each of them holds by itself.
  void walk(const TileLoop& loop) {
    const SumParts parts = cores_.size() > 1 ? sums_.parts(loop.index, at_) : SumParts{};
    for (core_ = cores_.size(); core_-- > 0;) {
      for (const NodeId n : loop.nodes) begin(node(n));
      bool first = true;
      for (const int64_t tile : parts.empty() ? tiles_of(loop) : parts[core_]) {
        at_[loop.index] = tile;
        for (const NodeId n : loop.nodes) compute(node(n), first);
        first = false;
      }
      for (const NodeId n : loop.nodes) finish(node(n), loop.index);
    }
    core_ = 0;
  }

  /// The tiles along a loop that are walked: without those that a kernel leaves out.
  std::vector<int64_t> tiles_of(const TileLoop& loop) const {
    return roles_.held() ? sums_.parts(loop.index, at_).front() : sums_.walked(loop.index);
  }

  /// Each core has tiles of its own up to the sum of which all have shares; what follows is
  /// computed once.
  void once(const TileLoop& loop) {
    for (const NodeId n : loop.nodes) {
      if (is_exchange(node(n)) && cores_.size() > 1) {
        exchange(node(n));
        continue;
      }
      for (core_ = n < roles_.scatter ? cores_.size() : 1; core_-- > 0;) compute(node(n), true);
      core_ = 0;
    }
  }

  // --- nodes -------------------------------------------------------------------------------

  /// Does a node hold a result from one step of its loop to the next?
  bool holds(const Node& at) const {
    return at.kind == NodeKind::reduce || (roles_.held() && is_held_reduction(g_, at));
  }

  void begin(const Node& at) {
    if (!holds(at)) return;
    value(at.outputs[0])
        .assign(static_cast<size_t>(tile_elements(g_, at.outputs[0])),
                at.kind == NodeKind::reduce ? at.init : 0.0F);
  }

  void compute(const Node& at, bool first) {
    switch (at.kind) {
      case NodeKind::map:
        return map(at);
      case NodeKind::tile_coordinate:
        return coordinate(at);
      case NodeKind::tile_multiply:
        return holds(at) ? hold(at, first) : multiply(at);
      case NodeKind::reduce:
        return hold(at, first);
      case NodeKind::tile_store:
        return;
      default:  // what moves tiles between cores
        for (size_t i = 0; i < at.outputs.size(); ++i) {
          value(at.outputs[i]) = value(at.inputs[i].stream);
        }
    }
  }

  void coordinate(const Node& at) {
    Tile& out = value(at.outputs[0]);
    out.clear();
    TileAccess access(g_, at, dims_of(at.outputs[0]), batch_);
    access.for_each_coordinate(at_, [&](int64_t c) { out.push_back(static_cast<float>(c)); });
  }

  int summed_by(const Node& at) const { return dims_of(at.inputs[0].stream).back(); }

  /// A product with the loop over what it sums.
  void multiply(const Node& at) {
    const int summed = summed_by(at);
    Tile sum;
    for (const std::vector<int64_t>& tiles : sums_.parts(summed, at_)) {
      Tile part(static_cast<size_t>(tile_elements(g_, at.outputs[0])), 0.0F);
      for (const int64_t tile : tiles) {
        at_[summed] = tile;
        multiply_add(at, summed, part);
      }
      if (sum.empty()) {
        sum = std::move(part);
      } else {
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
      }
    }
    value(at.outputs[0]) = std::move(sum);
  }

  /// One step of what is held; the second stream has what was held before it.
  void hold(const Node& at, bool first) {
    Tile& out = value(at.outputs[0]);
    if (at.outputs.size() > 1) value(at.outputs[1]) = out;
    if (!first) rescale(at, out);
    at.kind == NodeKind::reduce ? reduce_rows(at, summed_by(at), out)
                                : multiply_add(at, summed_by(at), out);
  }

  /// Every row of what is held times its factor.
  void rescale(const Node& at, Tile& held) {
    const Input* factor = rescale_of(at);
    if (factor == nullptr) return;
    const Tile& by = value(factor->stream);
    const size_t cols = held.size() / by.size();
    for (size_t i = 0; i < held.size(); ++i) held[i] *= by[i / cols];
  }

  /// What all cores have, reduced in their order; the tile as a whole, of which a core may have a
  /// share only.
  void exchange(const Node& at) {
    const StreamId taken = at.inputs[0].stream;
    Tile whole(value(taken).size(), identity(at.reduction));
    for (core_ = 0; core_ < cores_.size(); ++core_) {
      const Tile& own = value(taken);
      for (size_t i = 0; i < whole.size(); ++i) whole[i] = combine(at.reduction, whole[i], own[i]);
    }
    for (core_ = cores_.size(); core_-- > 0;) value(at.outputs[0]) = whole;
    core_ = 0;
  }

  StreamId summed_of_chain() const {
    const TileRoles roles = tile_roles(g_);
    return node(roles.scatter >= 0 ? roles.scatter : roles.second).outputs[0];
  }

  const int batch_;
  const TileLoops loops_;
  TileSums sums_;
  const TensorData& data_;
  KernelRoles roles_;                     ///< of a kernel of one loop
  std::vector<OfCore> cores_;             ///< that walk parts of k
  size_t core_ = 0;                       ///< the one that is looked at
  std::vector<std::vector<int>> kept_;    ///< by stream: dimensions along which its tiles are there
  std::vector<std::vector<int>> varies_;  ///< by stream, of loads: those along which they differ
};

/// The tensor of a store as it is filled, step after step of the outer loops.
class StoredResult {
 public:
  StoredResult(const Program& program, const Graph& graph, const TileLoops& loops,
               const Node& store)
      : tensor_(program.tensors[store.tensor]),
        from_(store.inputs[0].stream),
        dim_(inner_dim(graph, loops)),
        tiles_(dim_ < 0 ? 1 : graph.indices[dim_].extent),
        adds_(tile_form(graph) == TileForm::chain),
        shape_(shape_of(sizes(graph, loops))),
        to_(graph, store, graph.streams[from_].block, batch_dim(graph), tensor_.format, shape_) {
    written_.tensor = store.tensor;
    written_.pos.resize(shape_.size());
    written_.crd.resize(shape_.size());
    written_.values.assign(static_cast<size_t>(element_count(shape_)), 0.0F);
  }

  void take(TileValues& values, StreamId summed) {
    for (int64_t t = 0; t < tiles_; ++t) {
      const Tile& tile = values.stored(summed < 0 ? from_ : summed, dim_, t);  // moves on `at`
      put(values.at(), tile);
    }
  }

  std::pair<TensorId, std::shared_ptr<const Storage>> done(const Program& program) {
    const TensorId id = written_.tensor;
    return {id, assemble_result(program, std::move(written_))};
  }

 private:
  /// Padding is dropped.
  void put(std::span<const int64_t> at, const Tile& tile) {
    const float* next = tile.data();
    to_.for_each(at, [&](int64_t position) {
      if (position == kOutsidePosition) {
        throw Error(ExitCode::rejected, tensor_.where,
                    fmt::format("tile_store writes outside of %{}", tensor_.name));
      }
      const float value = *next++;
      if (position < 0) return;
      float& element = written_.values[static_cast<size_t>(position)];
      element = adds_ ? element + value : value;
    });
  }

  /// That of the tensor, which has as many elements as all that the tiles give.
  std::vector<int64_t> shape_of(const std::vector<int64_t>& sizes) const {
    std::vector<int64_t> shape = known_shape(tensor_);
    int64_t elements = 1;
    bool large = false;
    for (const int64_t size : sizes) {
      large = large || __builtin_mul_overflow(elements, size, &elements);
    }
    if (!large && elements <= kMaxStored && elements == element_count(shape)) return shape;
    throw Error(ExitCode::rejected, tensor_.where,
                fmt::format("%{} does not have the {} elements that the tiles give", tensor_.name,
                            fmt::join(sizes, " x ")));
  }

  /// The dimension of its tiles that inner loops walk; -1: there is none.
  int inner_dim(const Graph& graph, const TileLoops& loops) const {
    for (const int dim : graph.streams[from_].block) {
      if (std::find(loops.outer.begin(), loops.outer.end(), dim) == loops.outer.end()) return dim;
    }
    return -1;
  }

  /// The extents of the result, over all tiles: rows without a width have one column.
  std::vector<int64_t> sizes(const Graph& graph, const TileLoops& loops) const {
    std::vector<int64_t> sizes;
    for (const int dim : loops.outer) sizes.push_back(graph.indices[dim].elements());
    if (dim_ >= 0) sizes.push_back(graph.indices[dim_].elements());
    if (is_tile_rows(graph) && dim_ < 0) sizes.push_back(1);
    return sizes;
  }

  const Tensor& tensor_;
  const StreamId from_;
  const int dim_;
  const int64_t tiles_;
  const bool adds_;  ///< clusters add to it
  const std::vector<int64_t> shape_;
  const TileAccess to_;
  WrittenTensor written_;
};

std::vector<StoredResult> stores_of(const Program& program, const Graph& graph,
                                    const TileLoops& loops) {
  std::vector<StoredResult> stores;
  std::set<TensorId> stored;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_store) continue;
    if (!stored.insert(node.tensor).second) {
      const Tensor& twice = program.tensors[node.tensor];
      throw Error(ExitCode::rejected, twice.where,
                  fmt::format("%{} is stored by two tile_store, expected one", twice.name));
    }
    stores.emplace_back(program, graph, loops, node);
  }
  return stores;
}

}  // namespace

std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> tile_values(
    const Program& program, const Graph& graph, const TensorData& data,
    const std::function<bool()>& go_on) {
  TileValues values(graph, data);
  std::vector<StoredResult> stores = stores_of(program, graph, values.loops());
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::tile_load) require_dense(program, data, node.tensor);
  }
  check_absent_tiles(program, graph, data);
  for (int64_t step = 0; step < values.steps(); ++step) {
    if (!go_on()) return {};
    values.step(step, [&](StreamId summed) {
      for (StoredResult& store : stores) store.take(values, summed);
    });
  }
  std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> results;
  for (StoredResult& store : stores) results.push_back(store.done(program));
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return results;
}

}  // namespace fuseflow
