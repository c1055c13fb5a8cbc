// The graph of an online softmax: reductions that hold rows' largest, sums and the product, and
// rescale what they hold whenever the largest grows. Weights that are rounded are computed when the
// largest and the sum are whole, in a second walk of the keys.
#include <algorithm>
#include <limits>

#include "cluster/kernels/graph.h"
#include "cluster/online/form.h"
#include "cluster/online/open_scores.h"

namespace fuseflow::cluster {
namespace {

/// What the rows' largest starts from: below every number, yet a number. A row in which everything
/// is -inf so far gives exp(-inf) = 0, not exp(-inf - -inf).
constexpr float kBelowAll = std::numeric_limits<float>::lowest();
constexpr int64_t kCopiesOfRows = 2;  ///< of what stays for all steps of a tile

const TileDims kRows{kKernelM};
const TileDims kStep{kKernelM, kKernelK};
const TileDims kResult{kKernelM, kKernelN};

class OnlineGraph {
 public:
  OnlineGraph(const OnlineForm& form, const OnlineTiles& tiles)
      : form_(form), tiles_(tiles), builder_(form, tiles.block, tiles.copies) {}

  Graph build() {
    if (form_.product >= 0) score_product();
    const Input scores = builder_.give(form_.scores, kStep);
    const Input exponentials = form_.maximum ? rescaled(scores) : exponential(scores, "p");
    const bool one_step = tiles_.block[kKernelK] >= sizes_of(form_.digits)[kKernelK];
    Node sum = builder_.node(NodeKind::reduce, with_factor({exponentials}));
    sum.reduction = Reduction::sum;
    Input sums = builder_.add(std::move(sum), kRows, "sum");
    if (form_.rounded) {
      store(product({one_step ? rounded(exponentials, sums) : rounded_again(scores, sums)}));
    } else {
      Input products = product(with_factor({exponentials}));
      if (tiles_.parts > 1) join_parts(sums, products);
      store(builder_.map(Op::div, {products, sums}, kResult, "y"));
    }
    builder_.set_cluster(tiles_.cores);
    return builder_.take();
  }

 private:
  const KernelTerm& term(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }

  void score_product() {
    const std::vector<int32_t>& sides = term(form_.product).children;
    const Input queries = builder_.load_term(term(sides[0]), {kKernelM, kKernelL},
                                             std::min(tiles_.copies, kCopiesOfRows));
    const Input keys = builder_.load_term(term(sides[1]), {kKernelL, kKernelK});
    Node node = builder_.node(NodeKind::tile_multiply, {queries, keys});
    node.capacity = tiles_.steps;
    builder_.set_made(form_.product, builder_.add(std::move(node), kStep, "s"), kStep);
  }

  /// Of weights, a load of the values, and a factor where the product is rescaled.
  Input product(std::vector<Input> weights) {
    const Input values = builder_.load_term(form_.values, {kKernelK, kKernelN});
    weights.insert(weights.begin() + 1, values);
    return builder_.add(builder_.node(NodeKind::tile_multiply, std::move(weights)), kResult, "o");
  }

  /// In a second walk of the keys, where the largest and the sum are whole.
  Input rounded_again(Input scores, Input sums) {
    if (largest_) {
      const Input largest =
          builder_.add(builder_.node(NodeKind::tile_hold, {*largest_}), kRows, "m");
      scores = builder_.map(Op::sub, {scores, largest}, kStep, "below");
    }
    const Input whole = builder_.add(builder_.node(NodeKind::tile_hold, {sums}), kRows, "z");
    return rounded(exponential(scores, "p"), whole);
  }

  /// The weights as the statements say them, rounded.
  Input rounded(Input exponentials, Input sums) {
    Input by = sums;
    if (form_.by_reciprocal) by = builder_.map(Op::reciprocal, {sums}, kRows, "r");
    const Op op = form_.by_reciprocal ? Op::mul : Op::div;
    const Input weights = builder_.map(op, {exponentials, by}, kStep, "w");
    return builder_.map(*form_.rounded, {weights}, kStep, "rounded");
  }

  void store(Input result) { builder_.store(form_.result, form_.stored, result); }

  Input exponential(Input of, const char* name) {
    return builder_.map(Op::exp, {of}, name[0] == 'f' ? kRows : kStep, name);
  }

  /// exp(scores - the largest so far); what the others hold is to be multiplied by exp(before -
  /// the largest so far).
  Input rescaled(Input scores) {
    Node node = builder_.node(NodeKind::reduce, {scores});
    node.reduction = Reduction::max;
    node.init = kBelowAll;
    largest_ = builder_.add(std::move(node), kRows, "max");
    const Input before = builder_.add_output(kRows, "before");
    factor_ = exponential(builder_.map(Op::sub, {before, *largest_}, kRows, "grown"), "f");
    return exponential(builder_.map(Op::sub, {scores, *largest_}, kStep, "below"), "p");
  }

  /// Each core has walked a part of the keys: what it holds times exp(its largest - that of all),
  /// summed. A core whose part is masked holds zeros and the least number, whose exponential is 0.
  void join_parts(Input& sums, Input& products) {
    builder_.spread_depth(tiles_.parts);
    if (largest_) {
      const Input all = builder_.reduce_over_cluster(Reduction::max, *largest_, kRows, "largest");
      const Input less = builder_.map(Op::sub, {*largest_, all}, kRows, "less");
      const Input scale = builder_.map(Op::exp, {less}, kRows, "scale");
      sums = builder_.map(Op::mul, {sums, scale}, kRows, "sum_part");
      products = builder_.map(Op::mul, {products, scale}, kResult, "o_part");
    }
    sums = builder_.reduce_over_cluster(Reduction::sum, sums, kRows, "sum_all");
    products = builder_.sum_over_cluster(products, kResult, "o_all");
  }

  std::vector<Input> with_factor(std::vector<Input> inputs) const {
    if (factor_) inputs.push_back(*factor_);
    return inputs;
  }

  const OnlineForm& form_;
  const OnlineTiles& tiles_;
  KernelGraphBuilder builder_;
  std::optional<Input> largest_, factor_;
};

}  // namespace

namespace {

/// Leaves out the steps without an open score: as a band, or tile by tile where that has holes.
void leave_steps_out(Graph& graph, const OpenScores& scores) {
  graph.tiles->band = scores.band();
  std::vector<std::vector<TileRange>> open =
      scores.tiles(graph.indices[kKernelM].block, graph.indices[kKernelK].block);
  for (size_t m = 0; m < open.size(); ++m) {
    if (kernel_walk(graph, static_cast<int64_t>(m)) == open[m]) continue;
    graph.tiles->band.reset();
    graph.tiles->open = std::move(open);
    return;
  }
}

}  // namespace

Graph online_graph(const OnlineForm& form, const OnlineTiles& tiles) {
  Graph graph = OnlineGraph(form, tiles).build();
  if (form.open) leave_steps_out(graph, *form.open);
  return graph;
}

}  // namespace fuseflow::cluster
