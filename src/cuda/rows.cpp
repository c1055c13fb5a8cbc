#include "cuda/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "chip/needs.h"
#include "cuda/coordinates.h"
#include "cuda/finish.h"
#include "cuda/kernel_parts.h"
#include "cuda/refuse.h"
#include "cuda/rows_place.h"
#include "cuda/steps.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {
namespace {

constexpr int kRowGroups = 2;  ///< of 128 threads, where nothing is multiplied

class RowsBuilder {
 public:
  RowsBuilder(const Program& program, const Graph& graph, const Machine& machine,
              const TableRows* table)
      : program_(program), graph_(graph), machine_(machine), places_(graph), core_(places_.core()) {
    kernel_ = begin_kernel(graph, table);
    kernel_.groups = kRowGroups;
  }

  Kernel build() {
    name_coordinates();
    for (const NodeId store : places_.shape().stores) {
      const int width = rows_width(graph_, node(store).inputs[0].stream);
      std::vector<DimensionAt> dims = kernel_.row_dims;
      if (width >= 0) dims.push_back(columns(width));
      kernel_.results.push_back(result_element(program_, graph_, store, std::move(dims)));
    }
    if (!core_.on_core) {
      kernel_.tile_rows = index(kRowsM).block;
      kernel_.multiply.push_back(step_of(StepKind::row_program));
      return std::move(kernel_);
    }
    kernel_.tile_rows = places_.tile_rows();
    check();
    make_objects();
    for (size_t loop = 0; loop < places_.shape().loops.size(); ++loop) make_loop(loop);
    if (groups_ > 0) take_turns();
    return std::move(kernel_);
  }

 private:
  using TileAxis = DimensionAt::TileAxis;
  const Node& node(NodeId n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  const GraphIndex& index(int dim) const { return graph_.indices[static_cast<size_t>(dim)]; }
  NodeId producer(StreamId s) const { return graph_.streams[static_cast<size_t>(s)].producer; }

  void name_coordinates() {
    const RowsCluster& cluster = places_.cluster();
    if (kernel_.rows.dim > kRowsG) throw Refused{"rows of the table that are columns of rows"};
    if (kernel_.rows.dim == kRowsM) kernel_.rows.step = index(kRowsM).block * cluster.rows;
    const int64_t row_clusters = ceil_div(index(kRowsM).extent, int64_t{cluster.rows});
    std::map<std::string, Coordinate> at =
        spread_over_clusters(kernel_, {{"m", row_clusters}, {"g", index(kRowsG).extent}});
    kernel_.cores = cluster.cores();
    limit_clusters();
    if (cluster.wide > 1) kernel_.variables.push_back({"core_w", "rank", 1, cluster.wide});
    if (cluster.rows > 1)
      kernel_.variables.push_back({"core_m", "rank", cluster.wide, cluster.rows});
    core_m_ = coordinate(cluster.rows > 1 ? "core_m" : "");
    const Coordinate tile = sum(times(at["m"], cluster.rows), core_m_);
    const int64_t block = index(kRowsM).block;
    kernel_.row_dims = {{kRowsM, times(tile, block), TileAxis::row, block},
                        {kRowsG, at["g"], TileAxis::nothing, 1}};
  }

  DimensionAt columns(int width) const {
    const int64_t block = index(width).block;
    return {width, times(places_.tile_of(width), block), TileAxis::column, block};
  }
  DimensionAt summed(int width, TileAxis within) const {
    const int64_t block = index(width).block;
    return {width, times(coordinate("k"), block), within, block};
  }
  int summed_width(NodeId product) const {
    return rows_width(graph_, node(product).inputs[0].stream);
  }

  bool has_products() const {
    return std::any_of(core_.products.begin(), core_.products.end(),
                       [](const auto& of_loop) { return !of_loop.empty(); });
  }

  // Turns: a cluster has one group of tiles of rows after the other.

  void limit_clusters() {
    if (kernel_.table != nullptr || !has_products() || machine_.core.count == 0) return;
    const int64_t at_a_time = machine_.concurrent_clusters(static_cast<int>(kernel_.cores));
    if (at_a_time < 1 || kernel_.clusters <= at_a_time) return;
    groups_ = std::exchange(kernel_.clusters, at_a_time);
    for (Variable& v : kernel_.variables) v.from = "group";
    find_kept();
  }

  /// Weights stay from turn to turn where a ring has room for every tile that a turn takes of it.
  void find_kept() {
    const size_t rings = core_.rings.size();
    std::vector<int64_t> steps(rings, 0);
    std::vector<bool> differ(rings, false);  // for elements of the batch
    for (size_t loop = 0; loop < core_.products.size(); ++loop) {
      for (const NodeId product : core_.products[loop]) {
        const NodeId weights = producer(node(product).inputs[1].stream);
        const auto ring = static_cast<size_t>(core_.ring_of[static_cast<size_t>(weights)]);
        steps[ring] += places_.own_tiles(places_.shape().loops[loop].index) *
                       index(summed_width(product)).extent;
        differ[ring] = differ[ring] || varies_along(graph_, node(weights))[kRowsG];
      }
    }
    steps_before_.assign(rings, 0);
    kept_.assign(rings, false);
    std::optional<chip::Needs> needs = chip::needs_of(graph_);
    if (!needs || !chip::fit_copies(*needs, {}).empty()) return;  // refused when it is fitted
    for (size_t r = 0; r < rings; ++r)
      kept_[r] = !core_.rings[r].whole && !differ[r] && steps[r] <= needs->rings[r].copies;
  }
  bool is_kept(int load) const {
    const auto ring = static_cast<size_t>(kernel_.loads[static_cast<size_t>(load)].ring);
    return groups_ > 0 && kept_[ring];
  }

  /// All that the two roles do, for each group of the cluster.
  void take_turns() {
    for (size_t i = 0; i < kernel_.broadcasts.size(); ++i)
      kernel_.multiply.push_back(step_of(StepKind::broadcast_release, static_cast<int>(i)));
    for (std::vector<Step>* role : {&kernel_.produce, &kernel_.multiply}) {
      if (role->empty()) continue;
      role->push_back(count_of("turn"));
      Step turns = loop_of("group", groups_, std::exchange(*role, {}));
      turns.part = coordinate("cluster");
      turns.parts = kernel_.clusters;
      role->push_back(std::move(turns));
    }
  }

  /// A step of an exchange, of this turn.
  Step exchange_of(StepKind what, int broadcast) const {
    Step step = step_of(what, broadcast);
    if (groups_ > 0) step.variable = "turn";
    return step;
  }

  void check() const {
    if (!has_products() && !core_.rooms.empty() && graph_.tiles->element_bytes != 2) {
      throw Refused{
          fmt::format("rows of elements of {} bytes that cores exchange are not generated",
                      graph_.tiles->element_bytes)};
    }
  }

  // Objects.

  void make_objects() {
    const int wide = places_.cluster().wide;
    load_number_.assign(graph_.nodes.size(), -1);
    sums_number_.assign(graph_.nodes.size(), -1);
    for (size_t loop = 0; loop < core_.products.size(); ++loop) {
      for (const NodeId product : core_.products[loop]) {
        make_loads(product, static_cast<int>(loop));
        sums_number_[static_cast<size_t>(product)] = static_cast<int>(kernel_.sums.size());
        const chip::SumsSize sums = chip::product_sums(graph_, node(product));
        kernel_.sums.push_back({fmt::format("c{}", kernel_.sums.size()), sums.rows, sums.columns});
      }
    }
    for (size_t r = 0; r < core_.rooms.size(); ++r) {
      const chip::RowsRoom& room = core_.rooms[r];
      kernel_.held.push_back(
          {RowsPlaces::room_name(static_cast<int>(r)), {room.rows, room.columns}, room.tiles});
      broadcast_of_room_.push_back(-1);
      if (!room.everywhere) continue;
      broadcast_of_room_.back() = static_cast<int>(kernel_.broadcasts.size());
      kernel_.broadcasts.push_back(
          {fmt::format("tiles{}", r), static_cast<int>(r), -1, 0, room.tiles / wide, row_peers()});
    }
    for (size_t i = 0; i < core_.staged.size(); ++i) {
      const chip::SumsSize& sums = core_.staged[i];
      kernel_.rooms.push_back(
          {RowsPlaces::staged_name(i), sums.rows * sums.columns * chip::kSumBytes});
    }
    const int64_t row_bytes = places_.tile_rows() * chip::kSumBytes;
    for (size_t i = 0; i < core_.reduced.size(); ++i) {
      if (wide > 1) {
        kernel_.broadcasts.push_back({fmt::format("parts{}", i), -1,
                                      static_cast<int>(kernel_.rooms.size()), row_bytes, 1,
                                      row_peers()});
      }
      kernel_.rooms.push_back({RowsPlaces::reduced_name(i), wide * row_bytes});
    }
  }

  /// Cores that have other columns of the same rows, and other rows of the same columns.
  CoreGroup row_peers() const {
    const int wide = places_.cluster().wide;
    return {times(core_m_, wide), 1, wide, places_.column_core()};
  }
  CoreGroup column_peers() const {
    const RowsCluster& cluster = places_.cluster();
    return {places_.column_core(), cluster.wide, cluster.rows, core_m_};
  }

  void make_loads(NodeId product, int loop) {
    const std::array<NodeId, 2> from{producer(node(product).inputs[0].stream),
                                     producer(node(product).inputs[1].stream)};
    const int sum_of = summed_width(product), width = rows_width(graph_, node(product).outputs[0]);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto load = static_cast<size_t>(from[side]);
      if (core_.ring_of[load] < 0) continue;
      if (load_number_[load] < 0) {
        load_number_[load] = static_cast<int>(kernel_.loads.size());
        last_loop_.push_back(loop);
        const std::string name = fmt::format("{}{}", side == 0 ? "x" : "w", kernel_.loads.size());
        const DimensionAt& batch = kernel_.row_dims[1];
        if (side == 0) {
          add_load(program_, kernel_, name, from[0], kernel_.row_dims[0],
                   summed(sum_of, TileAxis::column), batch, row_peers(), chip::Side::left);
        } else {
          add_load(program_, kernel_, name, from[1], summed(sum_of, TileAxis::row), columns(width),
                   batch, column_peers(), chip::Side::right);
        }
        kernel_.loads.back().ring = core_.ring_of[load];
      }
      last_loop_[static_cast<size_t>(load_number_[load])] = loop;
    }
  }

  // Steps.

  /// Work alone, that is made again where it is read, gives nothing here.
  bool gives(const TileLoop& loop) const {
    return std::any_of(loop.nodes.begin(), loop.nodes.end(), [&](NodeId n) {
      const Node& at = node(n);
      return at.kind == NodeKind::tile_store || at.kind == NodeKind::reduce ||
             at.kind == NodeKind::tile_multiply || room_of(at.outputs[0]) >= 0;
    });
  }

  void make_loop(size_t number) {
    const TileLoop& loop = places_.shape().loops[number];
    if (!gives(loop)) return;
    const auto stores = std::count_if(loop.nodes.begin(), loop.nodes.end(), [&](NodeId n) {
      return node(n).kind == NodeKind::tile_store;
    });
    Step rows = step_of(StepKind::row_loop, static_cast<int>(number));
    if (loop.index < 0) {  // each core of a row has what is stored
      if (stores == 0) return;
      kernel_.multiply.push_back(places_.cluster().wide > 1 ? when_of({"core_w"}, {rows}) : rows);
      return;
    }
    std::vector<Step> produce, multiply;
    for (const NodeId product : core_.products[number]) make_product(product, produce, multiply);
    if (core_.ways[number] == chip::RowsWay::direct) {
      finish_directly(loop, number, multiply);
    } else {
      for (size_t i = 0; i < core_.products[number].size(); ++i) {
        multiply.push_back(
            step_of(StepKind::put_scores, sums_of(core_.products[number][i]), static_cast<int>(i)));
      }
      if (!core_.products[number].empty()) multiply.push_back(step_of(StepKind::meet));
      multiply.push_back(rows);
      multiply.push_back(step_of(StepKind::fence));
      multiply.push_back(step_of(StepKind::meet));
    }
    std::vector<int> sent = send_tiles(loop, multiply);
    const int64_t tiles = places_.own_tiles(loop.index);
    await_room(loop);
    if (!produce.empty()) kernel_.produce.push_back(loop_of("tile", tiles, std::move(produce)));
    kernel_.multiply.push_back(loop_of("tile", tiles, std::move(multiply)));
    kernel_.multiply.push_back(step_of(StepKind::meet));
    send_reduced(loop, sent);
    for (const int broadcast : sent)
      kernel_.multiply.push_back(exchange_of(StepKind::broadcast_wait, broadcast));
    release_rows(static_cast<int>(number));
  }

  int sums_of(NodeId product) const { return sums_number_[static_cast<size_t>(product)]; }

  /// The tile of a product; the rows that it takes of memory come with its first tile, and stay.
  void make_product(NodeId product, std::vector<Step>& produce, std::vector<Step>& multiply) {
    const Node& of = node(product);
    const int width = summed_width(product);
    const NodeId left_from = producer(of.inputs[0].stream);
    const int x = load_number_[static_cast<size_t>(left_from)],
              w = load_number_[static_cast<size_t>(producer(of.inputs[1].stream))];
    std::vector<Step> loads, steps;
    FactorOf left{FactorOf::Kind::held, core_.room_of[static_cast<size_t>(of.inputs[0].stream)]};
    if (x >= 0) {
      left = {FactorOf::Kind::load, x};
      if (std::count(there_.begin(), there_.end(), x) == 0) {
        there_.push_back(x);
        Step wait = step_of(StepKind::wait, x);
        wait.at = coordinate("k");
        loads.push_back(when_of({"tile"}, {step_of(StepKind::load, x)}));
        steps.push_back(when_of({"tile"}, {wait}));
      }
    }
    const int64_t extent = index(width).extent;
    const Coordinate at = is_kept(w) ? kept_place(product, w) : Coordinate{};
    Step wait = step_of(StepKind::wait, w), load = step_of(StepKind::load, w);
    wait.at = at;
    loads.push_back(is_kept(w) ? when_of({"turn"}, {std::move(load)}) : std::move(load));
    steps.push_back(std::move(wait));
    steps.push_back(
        multiply_of(sums_of(product), left, {FactorOf::Kind::load, w, at}, coordinate("k")));
    steps.push_back(step_of(StepKind::multiply_wait, sums_of(product)));
    if (!is_kept(w)) steps.push_back(step_of(StepKind::release, w));
    produce.push_back(loop_of("k", extent, std::move(loads)));
    multiply.push_back(step_of(StepKind::clear, sums_of(product)));
    multiply.push_back(loop_of("k", extent, std::move(steps)));
  }

  /// Which of its ring's tiles a step of a product takes, of those that stay.
  Coordinate kept_place(NodeId product, int w) {
    const int64_t extent = index(summed_width(product)).extent;
    int64_t& before =
        steps_before_[static_cast<size_t>(kernel_.loads[static_cast<size_t>(w)].ring)];
    Coordinate at = sum(times(coordinate("tile"), extent), coordinate("k"));
    at.offset = before;
    before += places_.own_tiles(rows_width(graph_, node(product).outputs[0])) * extent;
    return at;
  }

  /// Work on sums, whose result is put into its room and stored.
  void finish_directly(const TileLoop& loop, size_t number, std::vector<Step>& multiply) {
    const std::vector<NodeId>& products = core_.products[number];
    const int sums = sums_of(products[0]);
    StreamId result = -1;
    bool stored = false;
    for (const NodeId n : loop.nodes) {
      if (node(n).kind == NodeKind::tile_store) {
        result = node(n).inputs[0].stream;
        stored = true;
      } else if (node(n).kind != NodeKind::gather && room_of(node(n).outputs[0]) >= 0) {
        result = node(n).outputs[0];
      }
    }
    std::vector<StreamId> from;
    for (const NodeId product : products) from.push_back(node(product).outputs[0]);
    const bool clears = room_of(result) >= 0 && has_columns_beyond(graph_, loop.index);
    if (result != from[0] || clears) {
      Step work = step_of(StepKind::work, sums, from.size() > 1 ? sums_of(products[1]) : -1);
      work.work = static_cast<int>(kernel_.work.size());
      Work made{{}, std::move(from), result, kernel_.row_dims};
      made.dims.push_back(columns(loop.index));
      made.named = places_.names(static_cast<int>(number));
      kernel_.work.push_back(std::move(made));
      multiply.push_back(std::move(work));
    }
    if (const int room = room_of(result); room >= 0) {
      Step put = step_of(StepKind::put, sums, room);
      put.at = places_.tile_in_room(result);
      multiply.push_back(std::move(put));
      multiply.push_back(step_of(StepKind::fence));
      // All threads meet at the end of the loop; before that only for what is sent.
      if (core_.rooms[static_cast<size_t>(room)].everywhere)
        multiply.push_back(step_of(StepKind::meet));
    }
    for (const NodeId n : loop.nodes) {
      if (stored && node(n).kind == NodeKind::tile_store)
        multiply.push_back(step_of(StepKind::store, sums, number_of_store(n)));
    }
  }
  int room_of(StreamId s) const { return core_.room_of[static_cast<size_t>(s)]; }
  int number_of_store(NodeId n) const {
    const std::vector<NodeId>& stores = places_.shape().stores;
    return static_cast<int>(std::find(stores.begin(), stores.end(), n) - stores.begin());
  }

  /// The tile that a loop has made goes to the other cores. Gives the broadcasts that this begins.
  std::vector<int> send_tiles(const TileLoop& loop, std::vector<Step>& multiply) const {
    std::vector<int> sent;
    for (const NodeId n : loop.nodes) {
      if (node(n).kind != NodeKind::gather) continue;
      const StreamId given = node(n).outputs[0];
      if (room_of(given) < 0) continue;
      Step send = step_of(StepKind::broadcast, broadcast_of(given));
      send.at = places_.tile_in_room(given);
      sent.push_back(send.a);
      multiply.push_back(std::move(send));
    }
    return sent;
  }

  int broadcast_of(StreamId gathered) const {
    return broadcast_of_room_[static_cast<size_t>(room_of(gathered))];
  }
  int broadcast_of_reduced(StreamId reduced) const {
    const auto number = static_cast<size_t>(
        std::find(core_.reduced.begin(), core_.reduced.end(), reduced) - core_.reduced.begin());
    const std::string name = RowsPlaces::reduced_name(number);
    const auto here = std::find_if(
        kernel_.broadcasts.begin(), kernel_.broadcasts.end(), [&](const TileBroadcast& b) {
          return b.room >= 0 && kernel_.rooms[static_cast<size_t>(b.room)].name == name;
        });
    return static_cast<int>(here - kernel_.broadcasts.begin());
  }

  /// Before a loop puts anything where others have read it in the turn before.
  void await_room(const TileLoop& loop) {
    if (groups_ == 0 || places_.cluster().wide == 1) return;
    for (const NodeId n : loop.nodes) {
      const StreamId given = node(n).outputs.empty() ? -1 : node(n).outputs[0];
      int broadcast = -1;
      if (node(n).kind == NodeKind::gather && room_of(given) >= 0) broadcast = broadcast_of(given);
      if (node(n).kind == NodeKind::reduce) broadcast = broadcast_of_reduced(given);
      if (broadcast >= 0)
        kernel_.multiply.push_back(exchange_of(StepKind::broadcast_room, broadcast));
    }
  }

  /// What the core has reduced of its columns goes to the other cores.
  void send_reduced(const TileLoop& loop, std::vector<int>& sent) {
    if (places_.cluster().wide == 1) return;
    for (const NodeId n : loop.nodes) {
      if (node(n).kind != NodeKind::reduce) continue;
      Step send = step_of(StepKind::broadcast, broadcast_of_reduced(node(n).outputs[0]));
      send.at = places_.column_core();
      sent.push_back(send.a);
      kernel_.multiply.push_back(std::move(send));
    }
  }

  void release_rows(int loop) {
    for (const int x : there_) {
      if (last_loop_[static_cast<size_t>(x)] != loop) continue;
      const int ring = kernel_.loads[static_cast<size_t>(x)].ring;
      kernel_.multiply.push_back(loop_of("k", core_.rings[static_cast<size_t>(ring)].copies,
                                         {step_of(StepKind::release, x)}));
    }
  }

  const Program& program_;
  const Graph& graph_;
  const Machine& machine_;
  const RowsPlaces places_;
  const chip::RowsOnCore& core_;
  Kernel kernel_;
  Coordinate core_m_;
  std::vector<int> load_number_, sums_number_;  ///< by node; -1
  std::vector<int> last_loop_;                  ///< by load: that takes it
  std::vector<int> broadcast_of_room_;          ///< -1: it is of this core alone
  std::vector<int> there_;                      ///< loads of rows that have come
  int64_t groups_ = 0;                          ///< that clusters have in turns; 0: one each
  std::vector<bool> kept_;                      ///< by ring: its tiles stay from turn to turn
  std::vector<int64_t> steps_before_;           ///< by ring: of the products before, of a turn
};

}  // namespace

Kernel rows_kernel(const Program& program, const Graph& graph, const Machine& machine,
                   const TableRows* table) {
  return RowsBuilder(program, graph, machine, table).build();
}

}  // namespace fuseflow::cuda
