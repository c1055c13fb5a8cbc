#include "cuda/online.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chip/needs.h"
#include "cuda/coordinates.h"
#include "cuda/finish.h"
#include "cuda/kernel_parts.h"
#include "cuda/launch_text.h"
#include "cuda/refuse.h"
#include "cuda/steps.h"
#include "cuda/work_text.h"
#include "graph/tile_kernel.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {
namespace {

class OnlineBuilder {
 public:
  OnlineBuilder(const Program& program, const Graph& graph, const TableRows* table)
      : program_(program),
        graph_(graph),
        roles_(kernel_roles(graph)),
        tiles_(kernel_tiles(graph)),
        block_(kernel_block(graph)),
        depth_(depth_cores(graph)) {
    kernel_ = begin_kernel(graph, table);
  }

  Kernel build() {
    find();
    name_coordinates();
    make_objects();
    make_steps();
    return std::move(kernel_);
  }

 private:
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }
  NodeId producer(const Node& of, size_t input) const {
    return graph_.streams[static_cast<size_t>(of.inputs[input].stream)].producer;
  }

  void find() {
    for (const NodeId id : roles_.exchanges) {
      if (id != roles_.scatter) all_reduces_.push_back(id);
    }
    for (const NodeId id : roles_.steps) {
      if (node(id).kind != NodeKind::tile_multiply) continue;
      (is_held_reduction(graph_, node(id)) ? product_ : scores_) = id;
    }
  }

  void name_coordinates() {
    const int64_t cores = depth_ > 1 ? 1 : kernel_cluster(graph_);
    if (kernel_.rows.dim >= 0 && kernel_.rows.dim != kKernelM && kernel_.rows.dim != kKernelG)
      throw Refused{"rows of the table that are keys, or columns, of an attention"};
    if (kernel_.rows.dim == kKernelM) kernel_.rows.step = block_[kKernelM] * cores;
    const int64_t groups = ceil_div(tiles_[kKernelM], cores);
    at_ = spread_over_clusters(kernel_,
                               {{"n", tiles_[kKernelN]}, {"m", groups}, {"g", tiles_[kKernelG]}});
    kernel_.cores = cores * depth_;
    if (cores > 1) kernel_.variables.push_back({"core_m", "rank", 1, cores});
    if (depth_ > 1) kernel_.variables.push_back({"core_k", "rank", 1, depth_});
    core_ = coordinate(cores > 1 ? "core_m" : "");
    part_ = coordinate(depth_ > 1 ? "core_k" : "");
    m_tile_ = sum(times(at_["m"], cores), core_);
    kernel_.steps = step_lists(graph_, at_["m"], cores, core_, at_["g"], part_);
  }

  DimensionAt at(int dim, const Coordinate& tile, DimensionAt::TileAxis within) const {
    const int64_t block = graph_.indices[static_cast<size_t>(dim)].block;
    return {dim, times(tile, block), within, block};
  }
  DimensionAt rows() const { return at(kKernelM, m_tile_, DimensionAt::TileAxis::row); }
  DimensionAt columns() const { return at(kKernelN, at_.at("n"), DimensionAt::TileAxis::column); }
  DimensionAt batch() const { return at(kKernelG, at_.at("g"), DimensionAt::TileAxis::nothing); }

  void make_objects() {
    const auto depth = [&](DimensionAt::TileAxis within) { return at(kKernelL, {}, within); };
    const auto keys = [&](DimensionAt::TileAxis within) {
      return at(kKernelK, coordinate(tiles_[kKernelK] > 1 ? "k" : ""), within);
    };
    using TileAxis = DimensionAt::TileAxis;
    CoreGroup all;
    if (kernel_.cores > depth_) all = {{}, 1, kernel_.cores, core_};
    const auto load = [&](const std::string& name, NodeId from, chip::Side side,
                          const DimensionAt& row, const DimensionAt& column,
                          const CoreGroup& peers) {
      add_load(program_, kernel_, name, from, row, column, batch(), peers, side);
    };
    const CoreGroup parts =
        depth_ > 1 ? CoreGroup{{}, 1, depth_, part_} : CoreGroup{};  // of the same rows
    using chip::Side;
    load("q", producer(node(scores_), 0), Side::left, rows(), depth(TileAxis::column), parts);
    load("keys", producer(node(scores_), 1), Side::right, depth(TileAxis::row),
         keys(TileAxis::column), all);
    load("v", producer(node(product_), 1), Side::right, keys(TileAxis::row), columns(), all);
    const int64_t m = rounded_up(block_[kKernelM], kProductUnit),
                  k = chip::padded_block(graph_, kKernelK);
    kernel_.sums = {{"s", m, k}, {"o", m, rounded_up(block_[kKernelN], kProductUnit)}};
    kernel_.held.push_back({"p", {m, k}, 1});
    StepRows& step = kernel_.step_rows.emplace();
    step.rows = m;
    step.scores = node(scores_).outputs[0];
    step.factor = node(product_).inputs[0].stream;
    if (node(product_).inputs.size() > 2) step.rescale = node(product_).inputs[2].stream;
    for (const NodeId id : roles_.steps) {
      if (node(id).kind == NodeKind::reduce) step.reductions.push_back(id);
    }
    step.k = keys(TileAxis::column);
    step.may_have_none = kernel_.steps ? kernel_.steps->may_have_none : depth_ > tiles_[kKernelK];
    kernel_.row_dims = {rows(), batch()};
    const auto held_rows = static_cast<int64_t>(step.reductions.size());
    kernel_.rooms = {{"scores", m * k * 4},
                     {"state", held_rows * m * 4},
                     {"rescale", m * 4},
                     {"reduced", held_rows * m * 4}};
    kernel_.rows_there = block_[kKernelM];
    const int64_t sent = kernel_.rows_sent() * chip::kSumBytes;
    for (size_t i = 0; i < all_reduces_.size(); ++i) {
      kernel_.broadcasts.push_back(
          {fmt::format("all{}", i), -1, static_cast<int>(kernel_.rooms.size()), sent, 1, parts});
      kernel_.rooms.push_back({fmt::format("parts{}", i), depth_ * sent});
    }
    if (depth_ > 1)
      kernel_.scatters.push_back({"o_sum", kernel_.rows_there, kernel_.sums[1].columns, parts});
    kernel_.results = {
        result_element(program_, graph_, roles_.store, {rows(), columns(), batch()})};
  }

  void make_steps() {
    std::vector<Step> loads{step_of(StepKind::load, 1), step_of(StepKind::load, 2)};
    std::vector<Step> steps{step_of(StepKind::clear, 0),
                            step_of(StepKind::wait, 1),
                            multiply_of(0, {FactorOf::Kind::load, 0}, {FactorOf::Kind::load, 1}),
                            step_of(StepKind::multiply_wait, 0),
                            step_of(StepKind::release, 1),
                            step_of(StepKind::put_scores, 0, 0),
                            step_of(StepKind::meet),
                            step_of(StepKind::step_rows),
                            step_of(StepKind::fence),
                            step_of(StepKind::meet)};
    if (kernel_.step_rows->rescale >= 0) steps.push_back(step_of(StepKind::rescale, 1));
    for (const Step& s : {step_of(StepKind::wait, 2),
                          multiply_of(1, {FactorOf::Kind::held, 0}, {FactorOf::Kind::load, 2}),
                          step_of(StepKind::multiply_wait, 1), step_of(StepKind::release, 2),
                          step_of(StepKind::meet), count_of("steps")}) {
      steps.push_back(s);
    }
    kernel_.produce.push_back(step_of(StepKind::load, 0));
    steps = where_taken(kernel_, std::move(steps),
                        {step_of(StepKind::wait, 1), step_of(StepKind::release, 1),
                         step_of(StepKind::wait, 2), step_of(StepKind::release, 2)});
    const auto walk = [&](std::vector<Step> body) {
      return walk_of(kernel_, tiles_[kKernelK], part_, depth_, std::move(body));
    };
    kernel_.produce.push_back(walk(std::move(loads)));
    kernel_.multiply.push_back(step_of(StepKind::clear, 1));
    kernel_.multiply.push_back(step_of(StepKind::wait, 0));
    kernel_.multiply.push_back(walk(std::move(steps)));
    kernel_.multiply.push_back(step_of(StepKind::release, 0));
    kernel_.multiply.push_back(step_of(StepKind::reduced_rows));
    kernel_.multiply.push_back(step_of(StepKind::meet));
    FinishPlan plan;
    plan.sums = 1;
    plan.nodes = work_after_steps(graph_, roles_);
    plan.from = node(product_).outputs[0];
    plan.result = node(roles_.store).inputs[0].stream;
    plan.dims = {rows(), columns(), batch()};
    name_reduced();
    if (depth_ > 1) {
      exchange(plan.from);
      plan.scatter = 0;
      plan.turn = "turn";
      plan.from = node(roles_.scatter).outputs[0];
      if (plan.from == plan.result) plan.nodes.clear();
    }
    append(kernel_.multiply, finish_steps(program_, kernel_, plan));
    for (Work& work : kernel_.work) work.named = kernel_.row_names;
  }

  /// What the last step left of each row, and what all cores have of it.
  void name_reduced() {
    const int64_t m = kernel_.step_rows->rows;
    for (size_t i = 0; i < kernel_.step_rows->reductions.size(); ++i) {
      kernel_.row_names.emplace_back(node(kernel_.step_rows->reductions[i]).outputs[0],
                                     fmt::format("ff::get_one(core, reduced_at + ({} + row) * 4)",
                                                 static_cast<int64_t>(i) * m));
    }
    for (size_t i = 0; i < all_reduces_.size(); ++i) {
      const Node& all = node(all_reduces_[i]);
      std::string value = fmt::format("ff::get_one(core, parts{}_at + row * 4)", i);
      for (int64_t other = 1; other < depth_; ++other) {
        value = combined_text(all.reduction, value,
                              fmt::format("ff::get_one(core, parts{}_at + ({} + row) * 4)", i,
                                          other * kernel_.rows_sent()));
      }
      kernel_.row_names.emplace_back(all.outputs[0], "(" + value + ")");
      kernel_.exchanged_rows.push_back(all.inputs[0].stream);
    }
  }

  /// The parts of reductions, each from every core to all others, in order; what of a row's sums
  /// follows them before they are shared.
  void exchange(StreamId product) {
    for (size_t i = 0; i < all_reduces_.size(); ++i) {
      const int number = static_cast<int>(i);
      kernel_.multiply.push_back(step_of(StepKind::row_values, number));
      kernel_.multiply.push_back(step_of(StepKind::fence));
      kernel_.multiply.push_back(step_of(StepKind::meet));
      Step send = step_of(StepKind::broadcast, number);
      send.at = part_;
      kernel_.multiply.push_back(std::move(send));
      kernel_.multiply.push_back(step_of(StepKind::broadcast_wait, number));
    }
    const StreamId shared = node(roles_.scatter).inputs[0].stream;
    if (shared == product) return;
    Step work = step_of(StepKind::work, 1);
    work.work = static_cast<int>(kernel_.work.size());
    kernel_.work.push_back({{}, {product}, shared, {rows(), columns(), batch()}});
    kernel_.multiply.push_back(std::move(work));
  }

  const Program& program_;
  const Graph& graph_;
  KernelRoles roles_;
  KernelSizes tiles_, block_;
  const int64_t depth_;  ///< cores that have a part of the keys each
  Kernel kernel_;
  NodeId scores_ = -1, product_ = -1;
  std::vector<NodeId> all_reduces_;
  std::map<std::string, Coordinate> at_;
  Coordinate core_, part_, m_tile_;
};

/// The text of a row of a step.
class StepText {
 public:
  StepText(const Program& program, const Kernel& kernel, const TensorNumbers& tensors, int indent)
      : kernel_(kernel),
        graph_(*kernel.graph),
        step_(*kernel.step_rows),
        work_(program, *kernel.graph, tensors, indent + 2),
        indent_(indent + 2) {}

  std::string text() {
    const GraphIndex& k = graph_.indices[kKernelK];
    std::string all = "[&](int row) {\n";
    all += fmt::format("{}const int valid = k * {} + {} <= {} ? {} : {} - k * {};\n", space(),
                       k.block, k.block, k.elements(), k.block, k.elements(), k.block);
    const DimensionAt& rows = kernel_.row_dims[0];
    all += fmt::format("{}const int at_m = {} + row;\n", space(), text_of(rows.begin));
    all += fmt::format("{}const bool there = row < {} && at_m < {};\n", space(), rows.block,
                       dim_text(kernel_, kKernelM, "params.rows"));
    all += fmt::format(
        "{0}for (int column = core.lane(); column < P::kColumns; column += Core::kLanes) {{\n"
        "{0}  if (!there || column >= valid) ff::put_element<P::kElement>(core, p_at + P::at(row, "
        "column), "
        "0);\n{0}}}\n"
        "{0}if (!there) {{\n{0}  if (core.lane() > 0) return;\n{0}  ff::put_one(core, rescale_at + "
        "row * 4, 1);\n"
        "{0}  for (int i = 0; i < {1}; ++i) ff::put_own(core, state_at + (i * {2} + row) * 4, "
        "0);\n{0}  return;\n{0}}}\n",
        space(), step_.reductions.size(), step_.rows);
    all += coordinates_text(kernel_, {kernel_.row_dims[1]}, "", indent_);
    work_.name(
        step_.scores,
        fmt::format("ff::get_one(core, scores_at + ff::sums_at<{}>(row, column))", step_.rows));
    for (size_t i = 0; i < step_.reductions.size(); ++i) all += reduction(i);
    all += factor();
    if (step_.rescale >= 0) {
      const std::string value = work_.value(step_.rescale);
      all += work_.take() +
             fmt::format("{}if (core.lane() == 0) ff::put_one(core, rescale_at + row * 4, {});\n",
                         space(), value);
    }
    return all + std::string(static_cast<size_t>(indent_ - 2), ' ') + "}";
  }

 private:
  std::string space() const { return std::string(static_cast<size_t>(indent_), ' '); }
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }

  /// A loop over the columns of the step that exist; `body` ends it.
  template <class Body>
  std::string columns(Body body) {
    const WorkText outside = work_;
    work_.indent(indent_ + 2);
    const std::string inside = body();
    const std::string text = fmt::format(
        "{0}for (int column = core.lane(); column < valid; column += Core::kLanes) {{\n"
        "{0}  [[maybe_unused]] const int at_k = {1} + column;\n{2}{0}}}\n",
        space(), text_of(step_.k.begin), inside);
    work_ = outside;
    return text;
  }

  std::string reduction(size_t i) {
    const Node& n = node(step_.reductions[i]);
    const std::string name = fmt::format("r_{}", n.outputs[0]);
    const std::string state =
        fmt::format("state_at + ({} + row) * 4", static_cast<int64_t>(i) * step_.rows);
    // What it needs of the row, so that it is there before the loop.
    std::string before;
    const Input* factor = rescale_of(n);
    const std::string scale = factor == nullptr ? "" : work_.value(factor->stream);
    before += work_.take();
    // Read before the lanes meet; written after it.
    before += fmt::format("{}const float {}_before = steps == 0 ? {} : ff::get_own(core, {});\n",
                          space(), name, number_text(n.init), state);
    before += fmt::format("{}float {} = {};\n", space(), name, number_text(identity(n.reduction)));
    std::string text = before + columns([&] {
                         const std::string value = work_.value(n.inputs[0].stream);
                         return work_.take() + fmt::format("{}  {} = {};\n", space(), name,
                                                           combined_text(n.reduction, name, value));
                       });
    text += fmt::format(
        "{0}{1} = ff::across_lanes(core, {1}, [](float x, float y) {{ return {2}; }});\n", space(),
        name, combined_text(n.reduction, "x", "y"));
    const std::string held =
        scale.empty() ? name + "_before"
                      : fmt::format("(steps == 0 ? {0}_before : {0}_before * {1})", name, scale);
    text += fmt::format("{}{} = {};\n", space(), name, combined_text(n.reduction, held, name));
    text +=
        fmt::format("{}if (core.lane() == 0) ff::put_own(core, {}, {});\n", space(), state, name);
    work_.name(n.outputs[0], name);
    if (n.outputs.size() > 1) work_.name(n.outputs[1], name + "_before");
    return text;
  }

  std::string factor() {
    return columns([&] {
      const std::string value = work_.value(step_.factor);
      return work_.take() +
             fmt::format("{}  ff::put_element<P::kElement>(core, p_at + P::at(row, column), {});\n",
                         space(), value);
    });
  }

  const Kernel& kernel_;
  const Graph& graph_;
  const StepRows& step_;
  WorkText work_;
  int indent_;
};

}  // namespace

Kernel online_kernel(const Program& program, const Graph& graph, const TableRows* table) {
  return OnlineBuilder(program, graph, table).build();
}

std::string row_values(const Program& program, const Kernel& kernel, int number,
                       const TensorNumbers& tensors, int indent) {
  const std::string space(static_cast<size_t>(indent) + 2, ' ');
  WorkText work(program, *kernel.graph, tensors, indent + 2);
  for (const auto& [stream, name] : kernel.row_names) work.name(stream, name);
  const std::string value = work.value(kernel.exchanged_rows[static_cast<size_t>(number)]);
  return fmt::format(
      "[&](int row) {{\n{0}[[maybe_unused]] const int at_m = {1} + row;\n{2}{3}{0}if (core.lane() "
      "== 0) ff::put_one(core, parts{4}_at + (core_k * {5} + row) * 4, {6});\n{7}}}",
      space, text_of(kernel.row_dims[0].begin),
      coordinates_text(kernel, {kernel.row_dims[1]}, "", indent + 2), work.take(), number,
      kernel.rows_sent(), value, std::string(static_cast<size_t>(indent), ' '));
}

std::string step_rows(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                      int indent) {
  return StepText(program, kernel, tensors, indent).text();
}

}  // namespace fuseflow::cuda
