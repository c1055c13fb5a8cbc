#include "nodes/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/cluster_shape.h"
#include "graph/tile_kernel.h"
#include "nodes/rule.h"
#include "nodes/subscripts.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostTiles = int64_t{1} << 40;  ///< of the walk
constexpr int64_t kMostCopies = 16;
constexpr size_t kMostDims = 3;  ///< of a tile

class KernelVerifier : private TileVerifier {
 public:
  using TileVerifier::TileVerifier;

  void run() {
    check_dimensions();
    if (sound_) check_streams();
    for (NodeId n = 0; sound_ && n < static_cast<NodeId>(g_.nodes.size()); ++n) check_node(n);
    if (sound_ && verify_kernel_whole(g_, error_)) check_all_subscripts();
  }

 private:
  /// The roles of the nodes; asked once the nodes so far are known to be right.
  const KernelRoles& roles() {
    if (!roles_) roles_ = kernel_roles(g_);
    return *roles_;
  }

  NodeKind maker(StreamId s) const { return node(g_.streams[s].producer).kind; }

  void check_dimensions() {
    constexpr std::array<std::string_view, kKernelDims> kNames{"m", "n", "k", "g"};
    int64_t tiles = 1;
    for (size_t d = 0; d < kNames.size(); ++d) {
      const GraphIndex& index = g_.indices[d];
      check_dimension(index, kNames[d]);
      if (__builtin_mul_overflow(tiles, index.extent, &tiles) || tiles > kMostTiles) {
        return fail(-1, fmt::format("a kernel has at most {} tiles", kMostTiles));
      }
    }
    if (g_.indices[kKernelG].block != 1) fail(-1, "index g: expected tiles of one element");
    if (g_.indices.size() > kKernelDims) check_inner();
    if (!g_.tiles->loops.empty() || g_.tiles->way != GatedWay::none) {
      fail(-1, "a kernel walks no loops of its own and has no way, expected `tiles [] bytes=4`");
    }
    if (g_.tiles->element_bytes < 1) fail(-1, "elements have no bytes");
  }

  /// What a product within a step sums is one tile, as are the columns of one after the steps.
  void check_inner() {
    const GraphIndex& index = g_.indices[kKernelL];
    check_dimension(index, "l");
    if (index.extent != 1) fail(-1, "index l: expected one tile, which nothing walks");
  }

  void check_dimension(const GraphIndex& index, std::string_view name) {
    expect_name(index, name);
    int64_t padded = 0;
    const bool fits = index.block >= 1 && index.extent >= 1 &&
                      !__builtin_mul_overflow(index.extent, index.block, &padded) &&
                      padded <= kMostElements && padded >= index.size &&
                      padded - index.block < index.size;
    if (index.tiling.digits.empty() || !digits_fit(index) || !fits) {
      fail(-1, fmt::format("index {}: expected digits whose product is its size, and tiles that "
                           "all have elements",
                           name));
    }
    check_cluster(index);
  }

  /// Rows are spread over a cluster, or what is summed: columns by a product after the steps, or
  /// k.
  void check_cluster(const GraphIndex& index) {
    const int cores = index.tiling.cluster;
    if (index.name != "m" && index.name != "n" && index.name != "k" && cores != 1) {
      fail(-1, fmt::format("index {}: cluster={}, expected 1: the cores of a cluster have tiles of "
                           "rows, of columns or of k",
                           index.name, cores));
    } else {
      check_cores(cores);
    }
  }

  /// Tiles extend over three of m, n, k and l at most, each once.
  void check_streams() {
    for (const Stream& stream : g_.streams) {
      if (!of_tiles(stream, kMostDims, kKernelG)) {
        fail(stream.producer,
             fmt::format("${} is not a stream of tiles over up to three of m, n, k "
                         "and l and of at most {} elements, expected one like "
                         "val<m,n>[m,n]",
                         stream.name, kMostTileElements));
      }
    }
  }

  void check_node(NodeId n) {
    const Node& at = node(n);
    switch (at.kind) {
      case NodeKind::tile_load:
        return check_load(n, kMostCopies);
      case NodeKind::tile_coordinate:
        expect_ports(n, 0, 1);
        return sound_ ? check_coordinate(n) : void();
      case NodeKind::tile_hold:
        expect_ports(n, 1, 1);
        return sound_ ? check_hold(n) : void();
      case NodeKind::map:
        expect_ports(n, static_cast<size_t>(op_info(at.op).arity), 1);
        return sound_ ? check_map(n) : void();
      case NodeKind::tile_multiply:
        expect_ports(n, rescale_of(at) != nullptr ? 3 : 2, 1);
        return sound_ ? check_product(n) : void();
      case NodeKind::reduce:
        expect_ports(n, rescale_of(at) != nullptr ? 2 : 1, at.outputs.size() == 2 ? 2 : 1);
        return sound_ ? check_reduce(n) : void();
      case NodeKind::reduce_scatter:
      case NodeKind::all_reduce:
        expect_ports(n, 1, 1);
        return sound_ ? check_exchange_tiles(n) : void();
      case NodeKind::tile_store:
        return expect_ports(n, 1, 0);
      default:
        return fail(n, "is not allowed in a kernel of tiles");
    }
  }

  /// The result extends over what its operands extend over.
  void check_map(NodeId n) {
    if (!node(n).contract.empty()) fail(n, "cannot contract in a kernel of tiles");
    check_covers(n);
  }

  void check_coordinate(NodeId n) {
    const size_t given = node(n).tile.subscripts.size();
    if (given == 1) return;
    fail(n, fmt::format("has {} subscripts, expected the one whose value it gives", given));
  }

  /// What a reduction of rows, one of several, holds at the end of a walk of k.
  void check_hold(NodeId n) {
    const Input& input = node(n).inputs[0];
    const bool wanted = !input.is_immediate() && maker(input.stream) == NodeKind::reduce &&
                        stream(input).port == 0 && roles().held() &&
                        dims_of(node(n).outputs[0]) == Dims{kKernelM};
    if (!wanted) {
      fail(n,
           "expected the tiles (m) that a reduce gives, where several reductions walk k, and gives "
           "such");
    } else if (!plain(node(n))) {
      fail(n, "has no branch or held bytes in a kernel");
    }
  }

  void check_product(NodeId n) {
    const Node& at = node(n);
    for (size_t i = 0; i < 2; ++i) {
      if (at.inputs[i].is_immediate()) return fail(n, "multiplies tiles, not numbers");
    }
    if (is_second_product(g_, at)) return check_second_product(n);
    const bool held = is_held_reduction(g_, at);
    const bool wanted = held ? over(at, {kKernelM, kKernelK}, {kKernelK, kKernelN}) &&
                                   dims_of(at.outputs[0]) == Dims{kKernelM, kKernelN}
                             : over(at, {kKernelM, kKernelL}, {kKernelL, kKernelK}) &&
                                   dims_of(at.outputs[0]) == Dims{kKernelM, kKernelK};
    const bool loaded =
        maker(at.inputs[1].stream) == NodeKind::tile_load &&
        (maker(at.inputs[0].stream) == NodeKind::tile_load || (held && roles().held()));
    if (!wanted || !loaded) {
      return fail(n,
                  "expected loads of tiles (m, k) and (k, n), and gives tiles (m, n); or, within "
                  "a step, loads of (m, l) and (l, k), and gives (m, k); or, after the steps, "
                  "tiles (m, n) and a load of (n, l), and gives (m, l)");
    }
    const bool gathers = held && at.capacity != 0 && !roles().held();
    if (!plain(at) || (held && at.capacity != 0 && !gathers)) {
      return fail(n, "has no branch, capacity or held bytes in a kernel");
    }
    if (gathers) check_gathered(n);
    if (!held && (at.capacity < 1 || at.capacity > kMostCopies || at.inputs.size() != 2)) {
      return fail(n,
                  fmt::format("within a step, expected a capacity of 1 to {} steps and two inputs",
                              kMostCopies));
    }
    check_rescale(n);
  }

  /// What each core has, reduced over the cluster: tiles of the same dimensions. Of a product by
  /// itself, or of one after the steps, this is all that follows; after several reductions maps may
  /// come before.
  void check_exchange_tiles(NodeId n) {
    const Node& at = node(n);
    if (at.inputs[0].is_immediate()) return fail(n, "sums tiles, not numbers");
    const Dims& dims = dims_of(at.outputs[0]);
    const bool several = roles().held();
    if (at.kind == NodeKind::all_reduce && !several) {
      return fail(n, "is allowed only where several reductions walk k together");
    }
    if (at.kind == NodeKind::all_reduce && at.reduction == Reduction::mean) {
      return fail(n, "cannot take the mean of what cores have, expected sum, max, min or prod");
    }
    if (several) {
      const bool wanted = dims == dims_of(at.inputs[0].stream) &&
                          (dims == Dims{kKernelM, kKernelN} ||
                           (at.kind == NodeKind::all_reduce && dims == Dims{kKernelM}));
      if (!wanted) {
        fail(n, at.kind == NodeKind::all_reduce ? "expected tiles (m) or (m, n), and gives such"
                                                : "expected tiles (m, n), and gives such");
      }
      return;
    }
    const Node& from = producer(at.inputs[0]);
    const bool product = from.kind == NodeKind::tile_multiply &&
                         (is_second_product(g_, from) || is_held_reduction(g_, from));
    if (!product || dims != dims_of(at.inputs[0].stream)) {
      fail(n,
           "expected the tiles (m, n) of a product over k or the tiles (m, l) of one after the "
           "steps, and gives such");
    }
  }

  /// Checks a product of what the product over k gives, all of whose columns are there: n is one
  /// tile, or one a core.
  void check_second_product(NodeId n) {
    const Node& at = node(n);
    const bool wanted = over(at, {kKernelM, kKernelN}, {kKernelN, kKernelL}) &&
                        dims_of(at.outputs[0]) == Dims{kKernelM, kKernelL} &&
                        maker(at.inputs[0].stream) != NodeKind::tile_load &&
                        maker(at.inputs[1].stream) == NodeKind::tile_load;
    if (!wanted) {
      return fail(n,
                  "after the steps, expected computed tiles (m, n) and a load of (n, l), and "
                  "gives tiles (m, l)");
    }
    if (at.inputs.size() != 2 || at.capacity != 0 || !plain(at)) {
      return fail(n, "after the steps has two inputs and no branch, capacity or held bytes");
    }
    const GraphIndex& columns = g_.indices[kKernelN];
    if (columns.extent != columns.tiling.cluster) {
      fail(n, fmt::format("sums n, expected one tile along n, or one for each core of a cluster, "
                          "not {} tiles on {} cores",
                          columns.extent, columns.tiling.cluster));
    }
  }

  /// A product with a capacity packs single k, which `open` lists.
  void check_gathered(NodeId n) {
    const int64_t packed = node(n).capacity;
    if (packed < 1 || packed > kMostGathered) {
      fail(n, fmt::format("gathers {} rows a step, expected 1 to {}", packed, kMostGathered));
    } else if (g_.tiles->open.empty()) {
      fail(n, "gathers rows (capacity), expected `open` to say which");
    } else if (g_.indices[kKernelK].block != 1) {
      fail(n, fmt::format("gathers rows (capacity) one by one, expected tiles of one k (index k: "
                          "block=1), not {}",
                          g_.indices[kKernelK].block));
    }
  }

  bool over(const Node& at, const Dims& left, const Dims& right) const {
    return dims_of(at.inputs[0].stream) == left && dims_of(at.inputs[1].stream) == right;
  }

  void check_reduce(NodeId n) {
    const Node& at = node(n);
    const bool wanted = !at.inputs[0].is_immediate() &&
                        dims_of(at.inputs[0].stream) == Dims{kKernelM, kKernelK} &&
                        std::all_of(at.outputs.begin(), at.outputs.end(),
                                    [&](StreamId s) { return dims_of(s) == Dims{kKernelM}; });
    if (!wanted) return fail(n, "expected tiles (m, k), and gives tiles (m)");
    check_rescale(n);
  }

  /// The factor of what a sum or a product holds: one for each row.
  void check_rescale(NodeId n) {
    const Input* factor = rescale_of(node(n));
    if (factor == nullptr) return;
    if (factor->is_immediate() || dims_of(factor->stream) != Dims{kKernelM}) {
      return fail(n, "is rescaled by a factor for each row, expected tiles (m)");
    }
    if (node(n).kind == NodeKind::reduce && node(n).reduction != Reduction::sum) {
      fail(n, "is rescaled, expected a sum");
    }
  }

  void check_all_subscripts() {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      if (!node_rule(node(n).kind).fields->subscripts) continue;
      const bool stores = node(n).kind == NodeKind::tile_store;
      const int columns = has_second_product(g_) ? kKernelL : kKernelN;
      Dims dims = stores ? Dims{kKernelM, columns} : dims_of(node(n).outputs[0]);
      dims.push_back(kKernelG);
      check_subscripts(n, dims);
      if (!sound_) return;
    }
    check_stored();
  }

  /// The store writes each element of the result once.
  void check_stored() {
    const std::vector<int> dim_of = dims_of_digits(g_);
    const NodeId store = roles().store;
    const auto seen = plain_digits(node(store), dim_of.size());
    if (!seen) return fail(store, kPlainDigits);
    const Dims& dims = dims_of(node(store).inputs[0].stream);
    const int summed = has_second_product(g_) ? kKernelN : kKernelL;
    for (size_t d = 0; d < dim_of.size(); ++d) {
      if (dim_of[d] == kKernelK || dim_of[d] == summed || digit_extent(g_, d) == 1) continue;
      const bool in_tile = dim_of[d] == kKernelG || holds(dims, dim_of[d]);
      if ((*seen)[d] != 1) return fail(store, kPlainDigits);
      if (!in_tile) return fail(store, "stores tiles that lack a dimension of the result");
    }
  }

  std::optional<KernelRoles> roles_;
};

}  // namespace

void verify_kernel(const Graph& graph, const TileError& error) {
  KernelVerifier(graph, error).run();
}

}  // namespace fuseflow
