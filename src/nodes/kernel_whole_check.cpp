// Checks a kernel of tiles as a whole: its one store, what stands in a step of k and what
// after the last, and how reductions that walk k together read and rescale each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "graph/tile_kernel.h"
#include "nodes/kernel_check.h"
#include "nodes/rule.h"

namespace fuseflow {
namespace {

constexpr int64_t kFarthestBand = int64_t{1} << 30;

class WholeVerifier : private TileVerifier {
 public:
  WholeVerifier(const Graph& graph, const TileError& error)
      : TileVerifier(graph, error), roles_(kernel_roles(graph)) {}

  bool run() {
    check_ends();
    if (sound_ && has_second_product(g_)) check_two_products();
    if (sound_) check_summed();
    if (sound_) check_added();
    if (sound_) roles_.held() ? check_held() : check_single();
    if (sound_ && g_.tiles->band) check_band();
    if (sound_ && !g_.tiles->open.empty()) check_open();
    return sound_;
  }

 private:
  /// Only the first.
  void fail(NodeId n, std::string message) {
    if (sound_) TileVerifier::fail(n, std::move(message));
  }

  /// What is before the last reduction may extend over k, what is after it may not.
  void check_ends() {
    const auto stores = std::count_if(g_.nodes.begin(), g_.nodes.end(), [](const Node& at) {
      return at.kind == NodeKind::tile_store;
    });
    if (stores != 1 ||
        node(static_cast<NodeId>(g_.nodes.size()) - 1).kind != NodeKind::tile_store) {
      return fail(-1, "a kernel ends with its one tile_store");
    }
    for (const NodeId n : roles_.last) {
      if (takes_steps(n)) return fail(n, "takes tiles over k, which the reduction ends");
    }
    if (takes_steps(roles_.store)) return fail(roles_.store, "stores tiles over k");
    const bool in_k = kernel_elements(g_)[kKernelK] > 1 || kernel_block(g_)[kKernelK] > 1;
    if (roles_.reductions.empty() && in_k) {
      fail(-1, "a kernel without a reduction has no index k");
    }
  }

  /// Does a node after the reductions take what is there in a step only?
  bool takes_steps(NodeId n) const {
    return std::any_of(node(n).inputs.begin(), node(n).inputs.end(), [&](const Input& input) {
      if (input.is_immediate()) return false;
      const std::vector<int>& dims = stream(input).block;
      const NodeId from = stream(input).producer;
      const bool in_step = holds(roles_.steps, from);
      const bool result = is_held_reduction(g_, node(from)) && stream(input).port == 0;
      return (in_step && !result) || holds(dims, kKernelK);
    });
  }

  /// One reduction alone: a product is of what it loads, and what it holds is read at the end,
  /// perhaps by a second product.
  void check_single() {
    if (g_.indices.size() > kKernelDims && !has_second_product(g_)) {
      return fail(-1, "a kernel of one reduction has an index l only for a product after it");
    }
    if (roles_.reductions.empty()) return;
    const NodeId n = roles_.reductions[0];
    if (rescale_of(node(n)) != nullptr || node(n).outputs.size() > 1) {
      return fail(n, "is the only reduction, expected no factor and one stream");
    }
    if (node(n).kind == NodeKind::tile_multiply && roles_.steps.size() > 1) {
      fail(n, "expected maps after the product alone");
    }
  }

  /// One product after the product over k, whose result is stored.
  void check_two_products() {
    const auto second = [&](const Node& at) { return is_second_product(g_, at); };
    const auto& last = roles_.last;
    const bool product =
        roles_.reductions.size() == 1 && node(roles_.reductions[0]).kind == NodeKind::tile_multiply;
    const auto in_last =
        std::count_if(last.begin(), last.end(), [&](NodeId n) { return second(node(n)); });
    if (!product || in_last != 1 || std::count_if(g_.nodes.begin(), g_.nodes.end(), second) != 1) {
      return fail(-1, "expected one product after the steps, of what one product over k gives");
    }
    const std::vector<int>& stored = stream(node(roles_.store).inputs[0]).block;
    if (stored != std::vector<int>{kKernelM, kKernelL}) {
      fail(roles_.store, "expected tiles (m, l), which the product after the steps gives");
    }
  }

  /// Columns are spread over a cluster for a product after the steps, k for a product by itself or
  /// for reductions that walk it together. Their parts are summed: each core then has a share.
  void check_summed() {
    if (summing_cores(g_) == 1) {
      if (!roles_.exchanges.empty()) {
        fail(roles_.exchanges[0], "sums over a cluster, expected index n or k with cluster=2");
      }
      return;
    }
    check_spread();
    if (sound_) check_shared_dim();
    const std::vector<bool> partial = partial_streams(g_, roles_);
    for (const NodeId n : roles_.exchanges) check_exchange_place(n, partial);
    for (NodeId n = 0; sound_ && n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      check_shares(n, partial);
    }
  }

  /// A product over k by itself.
  bool is_single_product() const {
    return roles_.reductions.size() == 1 && !has_second_product(g_) &&
           node(roles_.reductions[0]).kind == NodeKind::tile_multiply;
  }

  /// Several clusters add to a tile in memory: of a product by itself, which what follows takes
  /// once, in sums.
  void check_added() {
    constexpr int64_t kMostAdding = 64;
    const int64_t clusters = node(roles_.store).capacity;
    if (clusters == 0) return;
    if (clusters < 2 || clusters > kMostAdding) {
      return fail(roles_.store, fmt::format("{} clusters add to a tile, expected 2 to {}", clusters,
                                            kMostAdding));
    }
    if (!is_single_product()) {
      return fail(roles_.store, "has clusters that add to it, expected a product over k by itself");
    }
    if (g_.indices[kKernelK].extent < depth_parts(g_)) {
      return fail(roles_.store, fmt::format("{} tiles of k in {} parts, expected one for each at "
                                            "least",
                                            g_.indices[kKernelK].extent, depth_parts(g_)));
    }
    std::vector<StreamId> of_product{summed_stream(g_, roles_)};
    for (const NodeId n : roles_.last) {
      if (n == roles_.scatter) continue;
      const int64_t taken = taken_of(n, of_product);
      if (taken > 1 || (taken == 1 && node(n).op != Op::add)) {
        return fail(n, "expected sums alone after the product, to which clusters add in memory");
      }
      if (taken == 1) of_product.push_back(node(n).outputs[0]);
    }
    if (!holds(of_product, node(roles_.store).inputs[0].stream)) {
      fail(roles_.store, "does not store the product that clusters add");
    }
  }

  /// One index is spread, and the product that sums it is summed over the cluster.
  void check_spread() {
    const bool one_sum = std::count_if(g_.nodes.begin(), g_.nodes.end(), [](const Node& at) {
                           return at.kind == NodeKind::reduce_scatter;
                         }) == 1;
    if (column_cores(g_) > 1) {
      if (has_second_product(g_) && depth_cores(g_) == 1 && one_sum) return;
      return fail(-1,
                  "index n is spread over a cluster, expected a product after the steps and one "
                  "reduce_scatter of what it gives");
    }
    if ((!is_single_product() && !roles_.held()) || !one_sum) {
      return fail(
          -1,
          "index k is spread over a cluster, expected a product over k by itself, or several "
          "reductions that walk k, and one reduce_scatter of what they give");
    }
    const GraphIndex& along = g_.indices[kKernelK];
    if (along.extent < along.tiling.cluster) {
      fail(-1, fmt::format("index k: {} tiles on {} cores, expected one for each of them at least",
                           along.extent, along.tiling.cluster));
    }
  }

  void check_shared_dim() {
    const GraphIndex& rows = g_.indices[kKernelM];
    const GraphIndex& columns = g_.indices[has_second_product(g_) ? kKernelL : kKernelN];
    const int cores = summing_cores(g_);
    const int64_t shared = g_.indices[shared_dim(g_)].block;
    if (rows.tiling.cluster == 1 && shared % cores == 0) return;
    fail(-1, fmt::format("index m: cluster={} and block={}, expected cluster=1 and a block that "
                         "the {} cores of index {} share evenly, or else such a block of index {}, "
                         "not {}",
                         rows.tiling.cluster, rows.block, cores, column_cores(g_) > 1 ? "n" : "k",
                         columns.name, columns.block));
  }

  /// What cores reduce together are parts, after the steps, and the sum of which each has a share
  /// is the last. A part that was rescaled depends on what its core held.
  void check_exchange_place(NodeId n, const std::vector<bool>& partial) {
    const Input& input = node(n).inputs[0];
    if (roles_.exchanges.size() > kMostExchanges) {
      return fail(n, fmt::format("a kernel has at most {} sums over a cluster", kMostExchanges));
    }
    if (holds(roles_.steps, n)) {
      return fail(n, "sums over a cluster in a step of k, expected it after the last reduction");
    }
    if (!partial[input.stream]) {
      return fail(n, fmt::format("takes ${}, of which no core has a part", stream(input).name));
    }
    if (n > roles_.scatter) return fail(n, "stands after reduce_scatter, expected it before");
    const Node& from = node(stream(input).producer);
    if (is_held_reduction(g_, from) && rescale_of(from) != nullptr) {
      fail(n, fmt::format("sums ${}, which each core rescaled by what it held itself, expected it "
                          "scaled by how that differs from what all of them hold",
                          stream(input).name));
    }
  }

  /// A product by itself that is summed is read by the sum alone. What follows the sum takes
  /// shares, numbers, what an all_reduce gives, and loads, of which nothing before takes what is
  /// shared.
  void check_shares(NodeId n, const std::vector<bool>& partial) {
    for (const Input& input : node(n).inputs) {
      if (input.is_immediate()) continue;
      const NodeId from = stream(input).producer;
      const bool is_part = partial[input.stream];
      if (is_part && n != roles_.scatter && (n > roles_.scatter || !roles_.held())) {
        return fail(n, fmt::format("takes ${}, of which each core has a part, expected the sum of "
                                   "all (reduce_scatter)",
                                   stream(input).name));
      }
      if (node(from).kind == NodeKind::tile_load) {
        if (n > roles_.scatter || !is_shared(input) || !taken_by_shares(g_, input.stream)) continue;
        return fail(
            n, fmt::format("takes all {} of ${}, of which what follows reduce_scatter takes "
                           "a share, expected two loads",
                           shared_dim(g_) == kKernelM ? "rows" : "columns", stream(input).name));
      }
      const bool whole = node(from).kind == NodeKind::all_reduce && n != roles_.store;
      if (n <= roles_.scatter || from >= roles_.scatter || whole) continue;
      return fail(n,
                  fmt::format("takes ${} beside a share of {}, expected a number, a load, what "
                              "an all_reduce gives or what follows reduce_scatter",
                              stream(input).name, shared_dim(g_) == kKernelM ? "rows" : "columns"));
    }
  }

  bool is_shared(const Input& input) const { return holds(stream(input).block, shared_dim(g_)); }

  /// A reduction that takes what another one holds so far must rescale what it holds itself by how
  /// much that has changed: else its result would depend on the steps. Where there is one step, it
  /// does not.
  void check_held() {
    for (const NodeId n : roles_.steps) check_running_inputs(n);
    check_walks();
    const std::vector<bool> running = reads_running(g_, roles_);
    const bool one_step = g_.indices[kKernelK].extent == 1;
    for (const NodeId n : roles_.reductions) {
      const Input* factor = rescale_of(node(n));
      const bool depends = running[n];
      if (depends && factor == nullptr && !one_step) {
        return fail(n,
                    "takes what another reduction holds so far, expected a factor that rescales "
                    "what it holds itself");
      }
      if (!depends && factor != nullptr) {
        return fail(n, "is rescaled, but depends on no other reduction, expected no factor");
      }
    }
  }

  /// What a `tile_hold` gives is there in the second walk of k, as a result: nothing that takes it
  /// reads what changes from step to step, or is walked for once more.
  void check_walks() {
    for (const NodeId n : roles_.last) {
      if (node(n).kind == NodeKind::tile_hold) {
        return fail(n, "stands after the last reduction, expected it before");
      }
    }
    for (const NodeId n : roles_.steps) {
      if (node(n).kind == NodeKind::tile_hold && depth_cores(g_) > 1) {
        return fail(n, "is whole on no core of a cluster that has parts of k, expected k on one");
      }
    }
    const std::vector<std::vector<NodeId>> walks = kernel_walks(g_, roles_);
    if (walks.size() < 2) return;
    for (const NodeId n : roles_.steps) {
      const bool second = holds(walks[1], n) && node(n).kind != NodeKind::tile_hold;
      for (const Input& input : node(n).inputs) {
        if (input.is_immediate()) continue;
        const NodeId from = stream(input).producer;
        if (!is_held_reduction(g_, node(from))) continue;
        if (holds(walks[1], from)) {
          return fail(n, fmt::format("takes ${} in a step, which the second walk of k ends, "
                                     "expected it after the last reduction",
                                     stream(input).name));
        }
        if (second) {
          return fail(n, fmt::format("takes ${} so far in the second walk of k, expected a "
                                     "tile_hold of it",
                                     stream(input).name));
        }
      }
    }
  }

  void check_running_inputs(NodeId n) {
    if (node(n).kind == NodeKind::tile_hold) return;
    for (const Input& input : node(n).inputs) {
      if (input.is_immediate()) continue;
      const Node& from = node(stream(input).producer);
      if (from.kind == NodeKind::reduce && from.reduction == Reduction::mean) {
        return fail(n, "reads a mean before the last step, when it is none yet");
      }
      if (from.kind == NodeKind::tile_multiply && is_held_reduction(g_, from)) {
        return fail(n, "reads a product over k before the last step");
      }
    }
  }

  void check_band() {
    const auto [least, most] = *g_.tiles->band;
    if (!roles_.held()) return fail(-1, "a band needs several reductions that walk k together");
    if (least > most || std::llabs(least) > kFarthestBand || std::llabs(most) > kFarthestBand) {
      fail(-1, fmt::format("a band is from the least to the largest k - m, each at most {} from 0, "
                           "expected one like band=[-15, 0]",
                           kFarthestBand));
    }
  }

  void check_open() {
    const auto& open = g_.tiles->open;
    const bool product = !roles_.held() && !roles_.reductions.empty() &&
                         node(roles_.reductions[0]).kind == NodeKind::tile_multiply;
    if (!roles_.held() && !product) {
      return fail(-1, "`open` needs a product, or several reductions that walk k together");
    }
    if (g_.tiles->band) return fail(-1, "`open` says what `band` would, expected one of them");
    check_lists(product);
    const int64_t along = g_.indices[kKernelK].extent;
    for (size_t m = 0; sound_ && m < open.size(); ++m) {
      int64_t last_end = -1;  // the next range begins beyond this tile
      bool right = product || !open[m].empty();
      for (const TileRange& range : open[m]) {
        right = right && range.begin > last_end && range.end > range.begin && range.end <= along;
        last_end = range.end;
      }
      if (right) continue;
      return fail(-1, fmt::format("`open`, list {}: expected ranges BEGIN:END of the {} tiles of "
                                  "k, {}ascending, with a gap between them",
                                  m, along, product ? "" : "one at least, "));
    }
  }

  /// One list a tile of rows; of a product perhaps for each element of the batch.
  void check_lists(bool product) {
    const auto lists = static_cast<int64_t>(g_.tiles->open.size());
    const int64_t rows = g_.indices[kKernelM].extent, batch = g_.indices[kKernelG].extent;
    if (lists == rows || (product && lists == rows * batch)) return;
    const std::string or_batch =
        product && batch > 1 ? fmt::format(" (or {}, for each element of g)", rows * batch) : "";
    fail(-1, fmt::format("`open` has {} lists, expected {}, one a tile of rows{}", lists, rows,
                         or_batch));
  }

  const KernelRoles roles_;
};

}  // namespace

bool verify_kernel_whole(const Graph& graph, const TileError& error) {
  return WholeVerifier(graph, error).run();
}

}  // namespace fuseflow
