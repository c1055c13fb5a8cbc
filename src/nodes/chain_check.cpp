#include "nodes/chain_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/tiles.h"
#include "nodes/rule.h"
#include "nodes/subscripts.h"

namespace fuseflow {
namespace {

constexpr int64_t kPartialBytes = 4;

constexpr int kM = 0, kN = 1, kL = 3;  // 2: k

class ChainVerifier : private TileVerifier {
 public:
  using TileVerifier::TileVerifier;

  void run() {
    check_dimensions();
    check_nodes();
    if (!sound_) return;
    roles_ = tile_roles(g_);
    geometry_ = tile_geometry(g_);
    check_shape();
    check_roles();
    if (sound_) check_flow();
    if (sound_) check_all_subscripts();
    if (sound_) check_held();
  }

 private:
  void check_dimensions() {
    constexpr std::array<std::string_view, 4> kNames{"m", "n", "k", "l"};
    if (g_.indices.size() != kNames.size()) {
      return fail(-1, "a graph of tiles has the indices m, n, k, l and no other");
    }
    for (size_t d = 0; d < kNames.size(); ++d) check_dimension(g_.indices[d], kNames[d]);
    for (const Dim dim : g_.tiles->loops) {
      if (std::count(g_.tiles->loops.begin(), g_.tiles->loops.end(), dim) != 1) {
        fail(-1, fmt::format("loop {} is walked twice", kNames[static_cast<size_t>(dim)]));
      }
    }
    if (g_.tiles->element_bytes < 1) fail(-1, "elements have no bytes");
    if (g_.tiles->band || !g_.tiles->open.empty()) {
      fail(-1, "a chain leaves out no steps, expected `tiles [m, l, k] bytes=2`");
    }
  }

  void check_dimension(const GraphIndex& index, std::string_view name) {
    expect_name(index, name);
    int64_t padded = 0;
    const bool fits = !__builtin_mul_overflow(index.extent, index.block, &padded) &&
                      padded <= kMostElements && padded >= index.size;
    if (index.tiling.digits.empty() || !digits_fit(index) || !fits || index.block < 1 ||
        index.extent < 1 || !power_of_two(index.tiling.cluster) ||
        index.extent % index.tiling.cluster != 0) {
      // Split branches share no K, which check_shape knows.
      if (name == "k" && g_.tiles->way == GatedWay::split && digits_fit(index) && fits) return;
      fail(-1, fmt::format("index {}: expected digits whose product is its size, and tiles for "
                           "every block of a cluster",
                           name));
    }
  }

  void check_nodes() {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& at = node(n);
      const bool of_tiles = is_tile_node(at.kind) || at.kind == NodeKind::map;
      if (!of_tiles) fail(n, "is not allowed in a graph of tiles");
      const size_t outputs = at.kind == NodeKind::tile_store ? 0
                             : at.kind == NodeKind::exchange ? at.inputs.size()
                                                             : 1;
      expect_outputs(n, outputs);
      const bool loads = at.kind == NodeKind::tile_load;
      const size_t inputs = loads                                ? 0
                            : at.kind == NodeKind::tile_multiply ? 2
                            : at.kind == NodeKind::exchange ? std::max<size_t>(1, at.inputs.size())
                            : at.kind == NodeKind::map ? static_cast<size_t>(op_info(at.op).arity)
                                                       : 1;
      expect_inputs(n, inputs);
    }
    for (const Stream& stream : g_.streams) {
      if (stream.kind != StreamKind::val || stream.indices != stream.block ||
          stream.block.empty()) {
        fail(stream.producer,
             fmt::format("${} is not a stream of tiles, expected one like val<m,k>[m,k]",
                         stream.name));
      }
    }
  }

  void check_shape() {
    const ClusterShape& shape = geometry_.shape;
    if (shape.cores() > kLargestCluster || !shape.regular()) {
      return fail(-1,
                  fmt::format("a cluster of {}x{}x{} blocks with l {} has no geometry: expected "
                              "at most {} blocks, l / k and n k / l whole",
                              shape.m, shape.n, shape.k, shape.l, kLargestCluster));
    }
    const GatedWay way = g_.tiles->way;
    if ((way == GatedWay::none) != (roles_.branches == 1) ||
        (way == GatedWay::split && shape.k != 2)) {
      fail(-1, "a chain of two branches has a way, split (k 2) or sequential; another has none");
    }
    const int64_t m = geometry_.tile[Dim::m];
    if (m % shape.k != 0 || m % shape.reduce() != 0) {
      fail(-1, "a tile's rows cannot be shared out to the blocks that sum it");
    }
  }

  void require(NodeId n, bool needed, const char* what) {
    if ((n >= 0) == needed) return;
    fail(-1, fmt::format("the graph has {} {}, expected {}", needed ? "no" : "a", what,
                         needed ? "one" : "none for this cluster"));
  }

  void check_roles() {
    const ClusterShape& shape = geometry_.shape;
    require(roles_.a, true, "load of A (m, k)");
    for (int b = 0; b < roles_.branches; ++b) {
      require(roles_.b[b], true, "load of B (k, n)");
      require(roles_.product[b], true, "first product");
    }
    require(roles_.d, true, "load of D (n, l)");
    require(roles_.hold, true, "tile_hold");
    require(roles_.second, true, "second product");
    require(roles_.store, true, "tile_store");
    require(roles_.exchange, shape.k > 1, "exchange");
    require(roles_.gather, shape.k > 1, "gather");
    require(roles_.shuffle, sound_ && shape.shuffle() > 1, "shuffle");
    require(roles_.scatter, sound_ && shape.reduce() > 1, "reduce_scatter");
    const size_t known = roles_.first_loads.size() + roles_.first_maps.size() +
                         roles_.last_loads.size() + roles_.last_maps.size() +
                         static_cast<size_t>(2 * roles_.branches) + 5 + (shape.k > 1 ? 2U : 0U) +
                         (roles_.shuffle >= 0 ? 1U : 0U) + (roles_.scatter >= 0 ? 1U : 0U);
    if (sound_ && known != g_.nodes.size()) fail(-1, "the graph has nodes that no chain has");
    if (geometry_.steps[Dim::k] > geometry_.temporal[Dim::k] && !roles_.first_maps.empty()) {
      fail(-1, "K is spread over clusters, but C is not linear");
    }
  }

  StreamId output(NodeId n, size_t port = 0) const { return node(n).outputs[port]; }

  void takes(NodeId n, const std::vector<StreamId>& wanted, const char* what) {
    for (size_t i = 0; i < node(n).inputs.size(); ++i) {
      const Input& input = node(n).inputs[i];
      if (input.is_immediate() || (i < wanted.size() && wanted[i] != input.stream)) {
        return fail(n, fmt::format("expected {} as input", what));
      }
    }
  }

  void expect_dims(NodeId n, const Dims& dims) {
    for (const StreamId s : node(n).outputs) {
      if (dims_of(s) != dims) fail(n, fmt::format("${} has other dimensions", g_.streams[s].name));
    }
  }

  void check_flow() {
    std::vector<StreamId> parts;
    for (size_t b = 0; b < static_cast<size_t>(roles_.branches); ++b) {
      takes(roles_.product[b], {output(roles_.a), output(roles_.b[b])}, "A and B");
      expect_dims(roles_.product[b], {kM, kN});
      const int branch = g_.tiles->way == GatedWay::split ? static_cast<int>(b) : -1;
      if (node(roles_.product[b]).tile.branch != branch ||
          node(roles_.b[b]).tile.branch != branch) {
        fail(roles_.product[b], "expected branch=0 and branch=1 of a split chain, else none");
      }
      parts.push_back(output(roles_.product[b]));
    }
    if (roles_.exchange >= 0) {
      takes(roles_.exchange, parts, "the first products");
      expect_dims(roles_.exchange, {kM, kN});
      if (node(roles_.exchange).inputs.size() != parts.size()) {
        fail(roles_.exchange, "expected one input a first product");
      }
      if (!sound_) return;
      parts = node(roles_.exchange).outputs;
    }
    const StreamId c = check_maps(roles_.first_maps, roles_.first_loads, parts, {kM, kN});
    if (roles_.gather >= 0) takes(roles_.gather, {c}, "the finished C");
    takes(roles_.hold, {roles_.gather >= 0 ? output(roles_.gather) : c}, "the finished C");
    if (roles_.shuffle >= 0) takes(roles_.shuffle, {output(roles_.hold)}, "the held C");
    const NodeId slices = roles_.shuffle >= 0 ? roles_.shuffle : roles_.hold;
    takes(roles_.second, {output(slices), output(roles_.d)}, "C and D");
    expect_dims(roles_.second, {kM, kL});
    if (roles_.scatter >= 0) takes(roles_.scatter, {output(roles_.second)}, "partial E");
    const NodeId sums = roles_.scatter >= 0 ? roles_.scatter : roles_.second;
    if (geometry_.sharers() > 1) check_sums(output(sums));
    check_stores_once(roles_.store);
    const StreamId e = check_maps(roles_.last_maps, roles_.last_loads, {output(sums)}, {kM, kL});
    takes(roles_.store, {e}, "the finished E");
  }

  /// Where clusters add to E in memory, it is the second product, once, and what is added to it.
  void check_sums(StreamId product) {
    std::vector<StreamId> of_product{product};
    for (const NodeId n : roles_.last_maps) {
      const int64_t taken = taken_of(n, of_product);
      if (node(n).op != Op::add || taken > 1) {
        fail(n,
             "expected sums alone after the second product, because clusters add to the result in "
             "memory");
      }
      if (taken > 0) of_product.push_back(output(n));
    }
  }

  /// Maps take what is there and give tiles of `dims`; the last one's output.
  StreamId check_maps(const std::vector<NodeId>& maps, const std::vector<NodeId>& loads,
                      std::vector<StreamId> known, const Dims& dims) {
    StreamId last = known.front();
    for (const NodeId n : loads) known.push_back(output(n));
    for (const NodeId n : maps) {
      expect_dims(n, dims);
      bool streams = false;
      for (const Input& input : node(n).inputs) {
        if (input.is_immediate()) continue;
        streams = true;
        if (!holds(known, input.stream)) {
          fail(n, "takes tiles of another part of the chain");
        }
      }
      if (!streams) fail(n, "takes no stream");
      known.push_back(output(n));
      last = output(n);
    }
    return last;
  }

  /// Loads read by the digits of their tiles; the store writes each element of E once.
  void check_all_subscripts() {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      if (!node_rule(node(n).kind).fields->subscripts) continue;
      const Dims dims = n == roles_.store ? Dims{kM, kL} : dims_of(output(n));
      check_subscripts(n, dims);
      if (!sound_) return;
    }
    check_elements_once(roles_.store, {kM, kL});
  }

  void check_held() {
    const HeldBytes of_c = held_bytes(node(roles_.hold)), of_e = held_bytes(node(roles_.second));
    const TileGeometry& g = geometry_;
    const int64_t c = g.c_tiles_held * g.tile[Dim::m] * g.tile[Dim::n] * g_.tiles->element_bytes;
    if (of_c.total() != c) {
      fail(roles_.hold, fmt::format("holds {} bytes, expected {}", of_c.total(), c));
    }
    const int64_t e =
        g.e_tiles_held > 1 ? g.e_tiles_held * g.tile[Dim::m] * g.tile[Dim::l] * kPartialBytes : 0;
    if (of_e.total() != e || of_e.links != 0) {
      fail(roles_.second, fmt::format("holds {} bytes of partial E, expected {}, none over links",
                                      of_e.total(), e));
    }
    for (const NodeId n : {roles_.a, roles_.b[0], roles_.d}) {
      if (node(n).capacity < 1 || node(n).capacity > 16 ||
          node(n).capacity != node(roles_.a).capacity) {
        fail(n, "expected the same capacity of 1 to 16 tiles in every operand's buffer");
      }
    }
    if (slices_stay(g_, roles_) && (!slices_can_stay(g.shape, g.temporal, g.c_tiles_held) ||
                                    node(roles_.shuffle).capacity != g.shape.shuffle() - 1)) {
      fail(roles_.shuffle,
           fmt::format("expected no capacity, or {} for slices that stay over steps of l, where a "
                       "core holds one tile of C",
                       g.shape.shuffle() - 1));
    }
    if (node(roles_.second).capacity < 1 || node(roles_.second).capacity > 2) {
      fail(roles_.second, "expected a capacity of 1 or 2 accumulators");
    }
  }

  TileRoles roles_;
  TileGeometry geometry_;
};

}  // namespace

void verify_chain(const Graph& graph, const TileError& error) {
  ChainVerifier(graph, error).run();
}

}  // namespace fuseflow
