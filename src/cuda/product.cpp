#include "cuda/product.h"

#include <fmt/format.h>

#include <map>

#include "cuda/coordinates.h"
#include "cuda/finish.h"
#include "cuda/kernel_parts.h"
#include "cuda/online.h"
#include "cuda/refuse.h"
#include "cuda/steps.h"
#include "graph/tile_kernel.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {
namespace {

constexpr int kRowsGroups = 2;  ///< of 128 threads, of kernels without products

class ProductBuilder {
 public:
  ProductBuilder(const Program& program, const Graph& graph, const TableRows* table)
      : program_(program),
        graph_(graph),
        roles_(kernel_roles(graph)),
        tiles_(kernel_tiles(graph)),
        block_(kernel_block(graph)) {
    kernel_ = begin_kernel(graph, table);
  }

  Kernel build() {
    name_coordinates();
    if (is_product()) {
      make_objects();
      make_steps();
    } else {
      make_rows();
    }
    return std::move(kernel_);
  }

 private:
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }

  bool is_product() const {
    return !roles_.reductions.empty() && node(roles_.reductions[0]).kind == NodeKind::tile_multiply;
  }

  void name_coordinates() {
    depth_ = depth_cores(graph_);
    rows_ = depth_ > 1 ? 1 : kernel_cluster(graph_);
    if (is_product() && kernel_.rows.dim == kKernelN)
      throw Refused{"rows of the table that are columns of a product"};
    if (kernel_.rows.dim >= 0)
      kernel_.rows.step = block_[static_cast<size_t>(kernel_.rows.dim)] *
                          (kernel_.rows.dim == kKernelM ? rows_ : 1);
    adders_ = adding_clusters(graph_);
    const int64_t row_groups = ceil_div(tiles_[kKernelM], rows_);
    at_ = spread_over_clusters(
        kernel_,
        {{"n", tiles_[kKernelN]}, {"m", row_groups}, {"g", tiles_[kKernelG]}, {"adder", adders_}});
    kernel_.cores = depth_ > 1 ? depth_ : rows_;
    if (kernel_.cores > 1)
      kernel_.variables.push_back({depth_ > 1 ? "core_k" : "core_m", "rank", 1, kernel_.cores});
    core_k_ = coordinate(depth_ > 1 ? "core_k" : "");
    core_m_ = coordinate(rows_ > 1 ? "core_m" : "");
    m_tile_ = sum(times(at_["m"], rows_), core_m_);
    part_ = sum(times(at_["adder"], depth_), core_k_);
    kernel_.steps = step_lists(graph_, at_["m"], rows_, core_m_, at_["g"], part_);
  }

  DimensionAt rows() const {
    return {kKernelM, times(m_tile_, block_[kKernelM]), DimensionAt::TileAxis::row,
            block_[kKernelM]};
  }
  DimensionAt columns() const {
    return {kKernelN, times(at_.at("n"), block_[kKernelN]), DimensionAt::TileAxis::column,
            block_[kKernelN]};
  }
  DimensionAt batch() const { return {kKernelG, at_.at("g"), DimensionAt::TileAxis::nothing, 1}; }
  DimensionAt depth(DimensionAt::TileAxis within) const {
    return {kKernelK, times(coordinate(tiles_[kKernelK] > 1 ? "k" : ""), block_[kKernelK]), within,
            block_[kKernelK]};
  }

  void make_objects() {
    const Node& product = node(roles_.reductions[0]);
    const auto producer = [&](size_t i) {
      return graph_.streams[static_cast<size_t>(product.inputs[i].stream)].producer;
    };
    const CoreGroup alone;
    add_load(program_, kernel_, "a", producer(0), rows(), depth(DimensionAt::TileAxis::column),
             batch(), alone, chip::Side::left);
    CoreGroup all{{}, 1, rows_, core_m_};
    add_load(program_, kernel_, "b", producer(1), depth(DimensionAt::TileAxis::row), columns(),
             batch(), rows_ > 1 ? all : alone, chip::Side::right);
    kernel_.sums.push_back({"c", rounded_up(block_[kKernelM], kProductUnit),
                            rounded_up(block_[kKernelN], kProductUnit)});
    kernel_.rows_there = block_[kKernelM];
    if (depth_ > 1) {
      kernel_.scatters.push_back(
          {"c_sum", block_[kKernelM], kernel_.sums[0].columns, {{}, 1, depth_, core_k_}});
    }
    kernel_.results = {
        result_element(program_, graph_, roles_.store, {rows(), columns(), batch()})};
    Finish& finish = kernel_.finish;
    finish.adders = adders_;
    number_tiles(finish);
    finish.counter = sum(times(finish.tile, depth_), core_k_);
    finish.counters = finish.tiles * depth_;
    finish.tile_elements = block_[kKernelM] * kernel_.sums[0].columns;
  }

  /// Tiles of sums in memory. The rows of a launch are the slowest, so that no number of a tile
  /// depends on how many there are.
  void number_tiles(Finish& finish) {
    const auto number = [&](const Coordinate& slow, int64_t count, const Coordinate& fast) {
      return sum(times(sum(times(slow, count), fast), tiles_[kKernelN]), at_["n"]);
    };
    if (kernel_.rows.dim >= 0) {
      const int64_t m_tiles = rounded_up(tiles_[kKernelM], rows_);
      finish.tile = kernel_.rows.dim == kKernelM ? number(m_tile_, tiles_[kKernelG], at_["g"])
                                                 : number(at_["g"], m_tiles, m_tile_);
      finish.tiles = tiles_[kKernelG] * m_tiles * tiles_[kKernelN];
      return;
    }
    finish.tile = number(at_["g"], tiles_[kKernelM], m_tile_);
    // Where the cores of a cluster have more tiles of rows than there are, the last ones add to
    // nothing.
    finish.tiles = (tiles_[kKernelG] * tiles_[kKernelM] + rows_) * tiles_[kKernelN];
    if (adders_ > 1 && tiles_[kKernelM] % rows_ != 0) {
      throw Refused{"clusters that add, with more cores than tiles of rows"};
    }
  }

  /// A kernel without products: its elements, or the reduction of its rows.
  void make_rows() {
    const StreamId stored = node(roles_.store).inputs[0].stream;
    kernel_.results = {
        result_element(program_, graph_, roles_.store, {rows(), columns(), batch()})};
    kernel_.groups = kRowsGroups;
    if (roles_.reductions.empty()) {
      kernel_.tile_rows = block_[kKernelM];
      kernel_.tile_columns = block_[kKernelN];
      Step step = step_of(StepKind::elements);
      step.work = 0;
      kernel_.work.push_back({roles_.last, {}, stored, {rows(), columns(), batch()}});
      kernel_.multiply.push_back(step);
      return;
    }
    const Node& reduce = node(roles_.reductions[0]);
    RowsReduction r;
    r.value = {{roles_.steps.begin(), roles_.steps.end() - 1},
               {},
               reduce.inputs[0].stream,
               {rows(), {kKernelK, {}, DimensionAt::TileAxis::column, elements_k()}, batch()}};
    r.last = {roles_.last, {}, stored, {rows(), batch()}};
    r.reduced = reduce.outputs[0];
    r.reduction = reduce.reduction;
    r.start = reduce.init;
    r.rows = block_[kKernelM];
    r.columns = elements_k();
    kernel_.reduction = std::move(r);
    kernel_.multiply.push_back(step_of(StepKind::rows));
  }
  int64_t elements_k() const { return graph_.indices[static_cast<size_t>(kKernelK)].elements(); }

  void make_steps() {
    std::vector<Step> loads = where_taken(kernel_, {step_of(StepKind::load, 0)}, {});
    loads.push_back(step_of(StepKind::load, 1));
    std::vector<Step> steps{step_of(StepKind::wait, 0),
                            step_of(StepKind::wait, 1),
                            multiply_of(0, {FactorOf::Kind::load, 0}, {FactorOf::Kind::load, 1}),
                            step_of(StepKind::multiply_wait, 0),
                            step_of(StepKind::release, 0),
                            step_of(StepKind::release, 1)};
    kernel_.multiply.push_back(step_of(StepKind::clear, 0));
    steps = where_taken(kernel_, std::move(steps),
                        {step_of(StepKind::wait, 1), step_of(StepKind::release, 1)});
    const auto walk = [&](std::vector<Step> body) {
      return walk_of(kernel_, tiles_[kKernelK], part_, adders_ * depth_, std::move(body));
    };
    // What is shared has a tile for each part.
    const bool loops = tiles_[kKernelK] > 1 || kernel_.steps;
    append(kernel_.produce, loops ? std::vector<Step>{walk(std::move(loads))} : std::move(loads));
    append(kernel_.multiply, loops ? std::vector<Step>{walk(std::move(steps))} : std::move(steps));
    FinishPlan plan;
    plan.scatter = depth_ > 1 ? 0 : -1;
    plan.turn = "turn";
    plan.nodes = work_after_steps(graph_, roles_);
    plan.from =
        graph_
            .nodes[static_cast<size_t>(roles_.scatter >= 0 ? roles_.scatter : roles_.reductions[0])]
            .outputs[0];
    plan.result = node(roles_.store).inputs[0].stream;
    plan.dims = {rows(), columns(), batch()};
    if (adders_ > 1) plan.first = {"adder"};
    append(kernel_.multiply, finish_steps(program_, kernel_, plan));
  }

  const Program& program_;
  const Graph& graph_;
  KernelRoles roles_;
  KernelSizes tiles_, block_;
  Kernel kernel_;
  int64_t rows_ = 1, depth_ = 1, adders_ = 1;
  std::map<std::string, Coordinate> at_;
  Coordinate core_k_, core_m_, m_tile_, part_;
};

}  // namespace

Kernel product_kernel(const Program& program, const Graph& graph, const TableRows* table) {
  if (kernel_roles(graph).held()) return online_kernel(program, graph, table);
  return ProductBuilder(program, graph, table).build();
}

}  // namespace fuseflow::cuda
