#include "cuda/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "chip/fit.h"
#include "chip/forms.h"
#include "cuda/coordinates.h"
#include "cuda/finish.h"
#include "cuda/kernel_parts.h"
#include "cuda/operand.h"
#include "cuda/refuse.h"
#include "cuda/steps.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

constexpr int kM = 0, kN = 1, kK = 2, kL = 3;

std::string step_name(Dim dim) {
  return std::string(1, static_cast<char>(letter_of(dim) - 'A' + 'a'));
}

/// What the two roles do at one place.
struct RoleSteps {
  std::vector<Step> produce, multiply;
};

class ChainBuilder {
 public:
  ChainBuilder(const Program& program, const Graph& graph, const TableRows* table)
      : program_(program), graph_(graph), roles_(tile_roles(graph)), g_(tile_geometry(graph)) {
    split_ = graph.tiles->way == GatedWay::split;
    gated_ = roles_.branches == 2;
    stays_ = slices_stay(graph, roles_);
    for (const Dim dim : graph.tiles->loops) {
      if (dim != Dim::k && g_.temporal[dim] > 1) loops_.push_back(dim);
    }
    kernel_ = begin_kernel(graph, table);
  }

  Kernel build() {
    find_rows();
    kernel_.clusters = g_.clusters;
    kernel_.cores = g_.shape.cores();
    name_coordinates();
    make_objects();
    RoleSteps all = nest(0);
    kernel_.produce = std::move(all.produce);
    kernel_.multiply = std::move(all.multiply);
    return std::move(kernel_);
  }

 private:
  void find_rows() {
    LaunchRows& rows = kernel_.rows;
    if (rows.dim < 0) return;
    if (rows.dim != kM) throw Refused{"rows of the table that are not those of the chain"};
    rows.step = g_.tile[Dim::m] * g_.shape.m;
    rows.steps = g_.steps[Dim::m];
    rows.over_clusters = tile_loop_depth(*graph_.tiles, Dim::m) < 0;
  }
  bool overwritten() const { return chip::overwrites_c(graph_); }
  int64_t k_cores() const { return split_ ? 1 : g_.shape.k; }

  // Variables: m, n, k, l are the steps of the cluster; core_m, .. the core's place in it. The
  // first product has core (core_m, core_n, core_k); the second one core_l and `part` of the sum
  // over N.
  void name_coordinates() {
    int64_t divisor = 1;
    for (int d = kDims; d-- > 0;) {
      const Dim dim = kAllDims[static_cast<size_t>(d)];
      const bool of_rows = dim == Dim::m && kernel_.rows.over_clusters;
      if (!of_rows && (tile_loop_depth(*graph_.tiles, dim) >= 0 || g_.steps[dim] == 1)) continue;
      kernel_.variables.push_back(
          {step_name(dim), "cluster", divisor, of_rows ? 0 : g_.steps[dim], false, of_rows});
      divisor *= g_.steps[dim];
    }
    const ClusterShape& s = g_.shape;
    const auto of_rank = [&](const std::string& name, int64_t by, int64_t extent) {
      if (extent > 1) kernel_.variables.push_back({name, "rank", by, extent});
    };
    of_rank("core_k", 1, s.k);
    of_rank("place", s.k, s.shuffle());
    of_rank("part", s.k * s.shuffle(), s.reduce());
    of_rank("core_m", int64_t{s.k} * s.n, s.m);
    core_k_ = coordinate(s.k > 1 ? "core_k" : "");
    place_ = coordinate(s.shuffle() > 1 ? "place" : "");
    part_ = coordinate(s.reduce() > 1 ? "part" : "");
    core_m_ = coordinate(s.m > 1 ? "core_m" : "");
    // The core's tile of N, and of L.
    core_n_ = sum(times(part_, s.shuffle()), place_);
    core_l_ = sum(times(place_, s.k), core_k_);
  }
  /// The step along a dimension: a loop, a coordinate of the cluster, or 0.
  Coordinate at_step(Dim dim) const { return coordinate(known(dim) ? step_name(dim) : ""); }
  bool known(Dim dim) const {
    if (dim == Dim::m && kernel_.rows.over_clusters) return true;
    return g_.temporal[dim] > 1 || (tile_loop_depth(*graph_.tiles, dim) < 0 && g_.steps[dim] > 1);
  }
  Coordinate tile_number(Dim dim, const Coordinate& core) const {
    const int64_t cores = dim == Dim::k ? k_cores() : g_.shape.along(dim);
    return sum(times(at_step(dim), cores), core);
  }
  Coordinate begin(Dim dim, const Coordinate& core) const {
    return times(tile_number(dim, core), g_.tile[dim]);
  }
  DimensionAt along(Dim dim, const Coordinate& core, DimensionAt::TileAxis within) const {
    return {index_of(dim), begin(dim, core), within, g_.tile[dim]};
  }

  ElementAt element_of(NodeId load, Dim rows, const Coordinate& row_core, Dim columns,
                       const Coordinate& column_core) const {
    const Node& node = graph_.nodes[static_cast<size_t>(load)];
    return {node.tensor,
            node.tile.subscripts,
            {along(rows, row_core, DimensionAt::TileAxis::row),
             along(columns, column_core, DimensionAt::TileAxis::column)}};
  }

  int add_load(const std::string& name, NodeId node, chip::Side side, Dim rows,
               const Coordinate& row_core, Dim columns, const Coordinate& column_core,
               CoreGroup peers) {
    Load load;
    load.name = name;
    load.node = node;
    load.matrix = {g_.tile[rows], g_.tile[columns]};
    load.side = side;
    load.ring = static_cast<int>(kernel_.loads.size());
    load.peers = std::move(peers);
    load.row = begin(rows, row_core);
    load.column = begin(columns, column_core);
    load.element = element_of(node, rows, row_core, columns, column_core);
    choose_copy(program_, graph_, load, {index_of(rows), index_of(columns)}, kernel_.rows);
    kernel_.loads.push_back(std::move(load));
    return static_cast<int>(kernel_.loads.size()) - 1;
  }

  void make_objects() {
    const ClusterShape& s = g_.shape;
    // Cores that need the same tile of A differ in core_n (and, of a gate on two cores, in core_k).
    const int64_t rank_m = int64_t{s.k} * s.n;
    CoreGroup over_n{sum(times(core_m_, rank_m), core_k_), s.k, s.n, core_n_};
    if (split_) over_n = {times(core_m_, rank_m), 1, rank_m, sum(times(core_n_, s.k), core_k_)};
    const Coordinate in_row = sum(times(core_n_, s.k), core_k_);
    const CoreGroup over_m{in_row, rank_m, s.m, core_m_};
    const Coordinate k_core = split_ ? Coordinate{} : core_k_;
    using chip::Side;
    a_ = add_load("a", roles_.a, Side::left, Dim::m, core_m_, Dim::k, k_core, over_n);
    for (int b = 0; b < (split_ ? 1 : roles_.branches); ++b) {
      const std::string name = gated_ && !split_ ? fmt::format("b{}", b) : "b";
      b_[b] = add_load(name, roles_.b[static_cast<size_t>(b)], Side::right, Dim::k, k_core, Dim::n,
                       core_n_, over_m);
    }
    if (split_) {
      Load& load = kernel_.loads[static_cast<size_t>(b_[0])];
      Load other = load;
      other.node = roles_.b[1];
      choose_copy(program_, graph_, other, {kK, kN}, kernel_.rows);
      if (other.view.has_value() != load.view.has_value() ||
          other.matrix.by_rows != load.matrix.by_rows) {
        throw Refused{"branches on two cores whose weights lie differently in memory"};
      }
      load.second_branch = element_of(roles_.b[1], Dim::k, k_core, Dim::n, core_n_);
      load.second_node = other.node;
      load.branch = "core_k";
    }
    // D: of the round, the tile of N of the core at this distance.
    CoreGroup d_peers = over_m;
    Coordinate d_n = core_n_;
    if (s.shuffle() > 1) {
      kernel_.named.push_back({"whose", {}});  // (place + distance) % shuffle, in the printer
      d_n = sum(times(part_, s.shuffle()), coordinate("whose"));
    }
    d_ = add_load("d", roles_.d, Side::right, Dim::n, d_n, Dim::l, core_l_, d_peers);
    c_[0] = add_sums(gated_ && !split_ ? "gate" : "c", g_.tile[Dim::m], g_.tile[Dim::n]);
    if (gated_) c_[1] = add_sums("up", g_.tile[Dim::m], g_.tile[Dim::n]);
    e_ = add_sums("e", g_.tile[Dim::m], g_.tile[Dim::l]);
    kernel_.held.push_back({"c_held", {g_.tile[Dim::m], g_.tile[Dim::n]}, g_.c_tiles_held});
    make_exchanges();
    make_finish();
  }
  int add_sums(const std::string& name, int64_t rows, int64_t columns) {
    kernel_.sums.push_back({name, rows, columns});
    return static_cast<int>(kernel_.sums.size()) - 1;
  }

  void make_exchanges() {
    const ClusterShape& s = g_.shape;
    const int64_t rank_m = int64_t{s.k} * s.n;
    const Coordinate row = times(core_m_, rank_m);
    if (s.k > 1) {
      const CoreGroup over_k{sum(row, times(core_n_, s.k)), 1, s.k, core_k_};
      for (int b = 0; b < (gated_ && !split_ ? 2 : 1); ++b) {
        kernel_.scatters.push_back({b == 0 ? "c_sum" : "up_sum", g_.tile[Dim::m], g_.tile[Dim::n],
                                    over_k, chip::share_unit(graph_.tiles->element_bytes)});
      }
      kernel_.spreads.push_back({"c_all", 0, over_k});
    }
    if (s.shuffle() > 1) {
      const Coordinate first = sum(sum(row, times(part_, int64_t{s.shuffle()} * s.k)), core_k_);
      kernel_.rounds.push_back({"round",
                                0,
                                {first, s.k, s.shuffle(), place_},
                                chip::round_slots(s.shuffle(), stays_),
                                stays_ ? step_name(Dim::l) : ""});
    }
    if (s.reduce() > 1) {
      const Coordinate first = sum(sum(row, times(place_, s.k)), core_k_);
      e_scatter_ = static_cast<int>(kernel_.scatters.size());
      kernel_.scatters.push_back({"e_sum",
                                  g_.tile[Dim::m],
                                  g_.tile[Dim::l],
                                  {first, int64_t{s.k} * s.shuffle(), s.reduce(), part_}});
    }
  }

  void make_finish() {
    kernel_.results = {result_element(program_, graph_, roles_.store, e_dims())};
    Finish& finish = kernel_.finish;
    finish.adders = g_.sharers();
    const int64_t l_tiles = g_.padded[Dim::l] / g_.tile[Dim::l],
                  m_tiles = g_.padded[Dim::m] / g_.tile[Dim::m];
    finish.tile = sum(times(tile_number(Dim::m, core_m_), l_tiles), tile_number(Dim::l, core_l_));
    finish.counter = sum(times(finish.tile, g_.shape.reduce()), part_);
    finish.tiles = m_tiles * l_tiles;
    finish.counters = finish.tiles * g_.shape.reduce();
    finish.tile_elements = g_.tile[Dim::m] * g_.tile[Dim::l];
  }
  std::vector<DimensionAt> e_dims() const {
    return {along(Dim::m, core_m_, DimensionAt::TileAxis::row),
            along(Dim::l, core_l_, DimensionAt::TileAxis::column)};
  }
  std::vector<DimensionAt> c_dims() const {
    return {along(Dim::m, core_m_, DimensionAt::TileAxis::row),
            along(Dim::n, core_n_, DimensionAt::TileAxis::column)};
  }

  // Steps.

  /// The innermost of the loops over M, N and L along which a load differs, counted from 1; 0: none
  /// does.
  int level_of(std::initializer_list<Dim> dims) const {
    int level = 0;
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (std::find(dims.begin(), dims.end(), loops_[i]) != dims.end())
        level = static_cast<int>(i) + 1;
    }
    return level;
  }
  int innermost() const { return static_cast<int>(loops_.size()); }
  bool k_walked() const { return g_.temporal[Dim::k] > 1; }
  /// C is made in the first step of L alone.
  std::vector<std::string> first_l(int from_level) const {
    for (int i = 0; i < from_level; ++i) {
      if (loops_[static_cast<size_t>(i)] == Dim::l) return {"l"};
    }
    return {};
  }
  static std::vector<Step> guarded(std::vector<std::string> zero, std::vector<Step> body) {
    if (zero.empty() || body.empty()) return body;
    return {when_of(std::move(zero), std::move(body))};
  }

  struct HeldLoad {
    int load;
    int level;
    bool first;  ///< for the first product
  };
  /// Loads that are held while loops inside of a level walk.
  std::vector<HeldLoad> outer_loads() const {
    std::vector<HeldLoad> all;
    if (!k_walked()) {
      const int a_level = level_of({Dim::m});
      if (a_level < innermost()) all.push_back({a_, a_level, true});
      const int b_level = level_of({Dim::n});
      for (int b = 0; b < (gated_ && !split_ ? 2 : 1) && b_level < innermost(); ++b) {
        all.push_back({b_[static_cast<size_t>(b)], b_level, true});
      }
    }
    const int d_level = level_of({Dim::n, Dim::l});
    if (kernel_.rounds.empty() && d_level < innermost()) all.push_back({d_, d_level, false});
    return all;
  }
  bool is_outer(int load) const {
    const std::vector<HeldLoad> all = outer_loads();
    return std::any_of(all.begin(), all.end(), [&](const HeldLoad& h) { return h.load == load; });
  }

  RoleSteps nest(int level) {
    RoleSteps both;
    std::vector<HeldLoad> here = outer_loads();
    std::erase_if(here, [&](const HeldLoad& h) { return h.level != level; });
    for (const HeldLoad& h : here) {
      const std::vector<std::string> zero = h.first ? first_l(level) : std::vector<std::string>{};
      append(both.produce, guarded(zero, {step_of(StepKind::load, h.load)}));
      append(both.multiply, guarded(zero, {step_of(StepKind::wait, h.load)}));
    }
    RoleSteps inside = level < innermost() ? loop(level) : innermost_steps();
    append(both.produce, std::move(inside.produce));
    append(both.multiply, std::move(inside.multiply));
    for (const HeldLoad& h : here) {
      const std::vector<std::string> zero = h.first ? first_l(level) : std::vector<std::string>{};
      append(both.multiply, guarded(zero, {step_of(StepKind::release, h.load)}));
    }
    if (stays_ && level == level_of_c()) append(both.multiply, end_of_round());
    // The end of C's life, where another one takes its place.
    if (overwritten() && level == level_of_c()) {
      both.multiply.push_back(step_of(StepKind::meet));
      if (!kernel_.spreads.empty()) append(both.multiply, c_release());
    }
    return both;
  }
  /// All have what went round; what stayed has been read.
  std::vector<Step> end_of_round() const {
    std::vector<Step> steps;
    if (stays_) {
      steps.push_back(step_of(StepKind::distances, 0));
      steps.back().body = {step_of(StepKind::release_round, 0)};
    }
    steps.push_back(step_of(StepKind::end_round, 0));
    steps.push_back(count_of("pass"));
    return steps;
  }
  /// The level in which a C (or those that are held together) is made and used.
  int level_of_c() const {
    int level = 0;
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i] == Dim::l) break;
      level = static_cast<int>(i) + 1;
    }
    return level;
  }
  RoleSteps loop(int level) {
    const Dim dim = loops_[static_cast<size_t>(level)];
    RoleSteps body = nest(level + 1);
    RoleSteps both;
    const bool sums_over_n = dim == Dim::n && level + 1 == innermost();
    if (sums_over_n) both.multiply.push_back(step_of(StepKind::clear, e_));
    for (auto* steps : {&both.produce, &both.multiply}) {
      std::vector<Step>& inside = steps == &both.produce ? body.produce : body.multiply;
      steps->push_back(loop_of(step_name(dim), g_.temporal[dim], std::move(inside)));
      steps->back().over_rows = dim == Dim::m && kernel_.rows.dim >= 0;
    }
    if (sums_over_n) append(both.multiply, finish());
    return both;
  }

  RoleSteps innermost_steps() {
    RoleSteps both;
    RoleSteps first = first_product();
    const std::vector<std::string> zero = first_l(innermost());
    append(both.produce, guarded(zero, std::move(first.produce)));
    append(both.multiply, guarded(zero, std::move(first.multiply)));
    RoleSteps second = second_product();
    append(both.produce, std::move(second.produce));
    append(both.multiply, std::move(second.multiply));
    return both;
  }

  RoleSteps first_product() {
    RoleSteps both;
    const int branches = gated_ && !split_ ? 2 : 1;
    for (int b = 0; b < branches; ++b) both.multiply.push_back(step_of(StepKind::clear, c_[b]));
    for (int b = 0; b < branches; ++b) {
      RoleSteps body;
      // Without steps of K both branches use the same tile of A.
      const bool a_here = !is_outer(a_), b_here = !is_outer(b_[b]);
      const bool a_comes = a_here && (k_walked() || b == 0);
      const bool a_goes = a_here && (k_walked() || b + 1 == branches);
      for (const auto& [load, comes] : {std::pair{a_, a_comes}, std::pair{b_[b], b_here}}) {
        if (!comes) continue;
        body.produce.push_back(step_of(StepKind::load, load));
        body.multiply.push_back(step_of(StepKind::wait, load));
      }
      body.multiply.push_back(
          multiply_of(c_[b], {FactorOf::Kind::load, a_}, {FactorOf::Kind::load, b_[b]}));
      body.multiply.push_back(step_of(StepKind::multiply_wait, c_[b]));
      if (a_goes) body.multiply.push_back(step_of(StepKind::release, a_));
      if (b_here) body.multiply.push_back(step_of(StepKind::release, b_[b]));
      if (k_walked()) {
        both.produce.push_back(loop_of("k", g_.temporal[Dim::k], std::move(body.produce)));
        both.multiply.push_back(loop_of("k", g_.temporal[Dim::k], std::move(body.multiply)));
      } else {
        append(both.produce, std::move(body.produce));
        append(both.multiply, std::move(body.multiply));
      }
    }
    append(both.multiply, make_c());
    return both;
  }

  Step of_scatter(StepKind what, int scatter, int sums = -1) const {
    Step step = step_of(what, sums);
    step.scatter = scatter;
    step.variable = "c_turn";
    return step;
  }
  /// Sums of the first product become C, on every core that needs it.
  std::vector<Step> make_c() {
    std::vector<Step> steps;
    const bool exchanged = g_.shape.k > 1;
    const int scatters = exchanged ? (gated_ && !split_ ? 2 : 1) : 0;
    for (int i = 0; i < scatters; ++i) {
      steps.push_back(of_scatter(StepKind::await_room, i));
      steps.push_back(of_scatter(StepKind::stage, i, c_[i]));
    }
    if (exchanged) {
      steps.push_back(step_of(StepKind::fence));
      steps.push_back(step_of(StepKind::meet));
    }
    for (int i = 0; i < scatters; ++i) {
      steps.push_back(of_scatter(StepKind::scatter, i));
      Step add = of_scatter(StepKind::add_shares, i, c_[i]);
      if (split_) {  // what comes is the other branch
        steps.push_back(step_of(StepKind::clear, c_[1]));
        add.a = c_[1];
      }
      steps.push_back(add);
    }
    Step work = step_of(StepKind::work, c_[0], gated_ ? c_[1] : -1);
    work.scatter = exchanged ? 0 : -1;
    work.work = c_work();
    if (split_)
      work.variable = "core_k";  // on the second core the branches are the other way round
    if (work.work >= 0) steps.push_back(work);
    Step put = step_of(StepKind::put, c_[0], 0);
    put.scatter = work.scatter;
    put.at = held_tile();
    steps.push_back(put);
    steps.push_back(step_of(StepKind::fence));
    steps.push_back(step_of(StepKind::meet));
    if (exchanged) {
      Step spread = step_of(StepKind::spread, 0);
      spread.at = held_tile();
      spread.variable = "c_turn";
      steps.push_back(spread);
      if (!overwritten()) append(steps, c_release());
    }
    return steps;
  }
  std::vector<Step> c_release() const {
    std::vector<Step> steps;
    for (int i = 0; i < (gated_ && !split_ ? 2 : 1); ++i)
      steps.push_back(of_scatter(StepKind::scatter_release, i));
    steps.push_back(count_of("c_turn"));
    return steps;
  }
  int c_work() {
    const bool is_map = !roles_.first_maps.empty();
    if (!is_map && !has_columns_beyond(graph_, kN)) return -1;
    Work work;
    work.nodes = roles_.first_maps;
    for (int b = 0; b < roles_.branches; ++b) {
      const NodeId from =
          roles_.exchange >= 0 ? roles_.exchange : roles_.product[static_cast<size_t>(b)];
      const size_t port = roles_.exchange >= 0 ? static_cast<size_t>(b) : 0;
      work.from.push_back(graph_.nodes[static_cast<size_t>(from)].outputs.at(port));
    }
    work.result = is_map ? graph_.nodes[static_cast<size_t>(roles_.first_maps.back())].outputs[0]
                         : work.from[0];
    work.dims = c_dims();
    kernel_.work.push_back(std::move(work));
    return static_cast<int>(kernel_.work.size()) - 1;
  }
  /// Which of the held tiles of C: those of all steps of M and N inside the loop over L.
  Coordinate held_tile() const {
    Coordinate at;
    bool inside = false;
    for (const Dim dim : loops_) {
      if (dim == Dim::l) {
        inside = true;
      } else if (inside) {
        at = sum(times(at, g_.temporal[dim]), coordinate(step_name(dim)));
      }
    }
    return at;
  }

  RoleSteps second_product() {
    RoleSteps both;
    const bool sums_here = loops_.empty() || loops_.back() != Dim::n;
    if (sums_here) both.multiply.push_back(step_of(StepKind::clear, e_));
    const bool round = !kernel_.rounds.empty();
    RoleSteps body;
    const bool d_here = round || !is_outer(d_);
    if (d_here) {
      body.produce.push_back(step_of(StepKind::load, d_));
    }
    if (round) {
      Step send = step_of(StepKind::send_round, 0);
      send.at = held_tile();
      append(body.multiply,
             guarded(stays_ ? first_l(innermost()) : std::vector<std::string>{}, {send}));
      send.what = StepKind::receive_round;
      body.multiply.push_back(send);
    }
    if (d_here) body.multiply.push_back(step_of(StepKind::wait, d_));
    const FactorOf c =
        round ? FactorOf{FactorOf::Kind::round, 0} : FactorOf{FactorOf::Kind::held, 0};
    body.multiply.push_back(multiply_of(e_, c, {FactorOf::Kind::load, d_}, held_tile()));
    body.multiply.push_back(step_of(StepKind::multiply_wait, e_));
    if (d_here) body.multiply.push_back(step_of(StepKind::release, d_));
    if (round) {
      if (!stays_) body.multiply.push_back(step_of(StepKind::release_round, 0));
      for (auto* steps : {&body.produce, &body.multiply}) {
        Step distances = step_of(StepKind::distances, 0);
        distances.body = std::move(*steps);
        *steps = {distances};
      }
      if (!stays_) append(body.multiply, end_of_round());
    }
    append(both.produce, std::move(body.produce));
    append(both.multiply, std::move(body.multiply));
    if (sums_here) append(both.multiply, finish());
    return both;
  }

  std::vector<Step> finish() {
    FinishPlan plan;
    plan.sums = e_;
    plan.scatter = e_scatter_;
    plan.turn = "e_turn";
    plan.nodes = roles_.last_maps;
    plan.from =
        graph_.nodes[static_cast<size_t>(roles_.scatter >= 0 ? roles_.scatter : roles_.second)]
            .outputs[0];
    plan.result = graph_.nodes[static_cast<size_t>(roles_.store)].inputs[0].stream;
    plan.dims = e_dims();
    for (const Dim dim : {Dim::n, Dim::k}) {
      if (tile_loop_depth(*graph_.tiles, dim) < 0 && g_.steps[dim] > 1)
        plan.first.push_back(step_name(dim));
    }
    return finish_steps(program_, kernel_, plan);
  }

  const Program& program_;
  const Graph& graph_;
  TileRoles roles_;
  TileGeometry g_;
  bool split_ = false, gated_ = false;
  bool stays_ = false;      ///< slices of C that went round, over steps of L
  std::vector<Dim> loops_;  ///< over M, N and L that take steps, outermost first
  Kernel kernel_;
  Coordinate core_m_, core_n_, core_k_, core_l_, place_, part_;
  int a_ = -1, d_ = -1, e_ = -1, e_scatter_ = -1;
  std::array<int, 2> b_{-1, -1}, c_{-1, -1};
};

}  // namespace

Kernel chain_kernel(const Program& program, const Graph& graph, const TableRows* table) {
  return ChainBuilder(program, graph, table).build();
}

}  // namespace fuseflow::cuda
