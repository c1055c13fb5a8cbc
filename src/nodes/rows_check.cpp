#include "nodes/rows_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/tile_rows.h"
#include "nodes/rule.h"
#include "nodes/subscripts.h"
#include "support/ceil_div.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostRowCopies = int64_t{1} << 16;  ///< of a load: all of its tiles, perhaps
constexpr int64_t kMostAccumulators = 16;

class RowsVerifier : private TileVerifier {
 public:
  using TileVerifier::TileVerifier;

  void run() {
    check_dimensions();
    if (sound_) check_streams();
    for (NodeId n = 0; sound_ && n < static_cast<NodeId>(g_.nodes.size()); ++n) check_node(n);
    if (sound_ && !stores_) fail(-1, "a kernel of rows stores nothing, expected a tile_store");
  }

 private:
  // --- dimensions and streams --------------------------------------------------------------

  void check_dimensions() {
    if (g_.indices[kRowsM].name != "m") {
      fail(-1, fmt::format("index {} expected m, the rows", g_.indices[kRowsM].name));
    }
    for (const GraphIndex& index : g_.indices) check_dimension(index);
    if (sound_ && (g_.indices[kRowsG].block != 1 || g_.indices[kRowsG].tiling.cluster != 1)) {
      fail(-1, "index g: expected tiles of one element and cluster=1");
    }
    const TileMapping& tiles = *g_.tiles;
    if (!tiles.loops.empty() || tiles.way != GatedWay::none || tiles.band || !tiles.open.empty()) {
      fail(-1,
           "a kernel of rows walks its widths in the order of its nodes, expected only "
           "`tiles [] bytes=4`");
    }
    if (sound_) check_cluster();
  }

  void check_cluster() {
    const RowsCluster cluster = rows_cluster(g_);
    check_cores(cluster.cores());
    for (size_t d = kRowsWidths; d < g_.indices.size(); ++d) {
      const int wide = g_.indices[d].tiling.cluster;
      if (wide == 1 || wide == cluster.wide) continue;
      fail(-1, fmt::format("index {}: spread over {} cores, expected 1 or the {} of other widths",
                           g_.indices[d].name, wide, cluster.wide));
    }
  }

  void check_dimension(const GraphIndex& index) {
    int64_t covered = 0;  // by the cores of a cluster
    const bool fits =
        index.block >= 1 && index.extent >= 1 && index.tiling.cluster >= 1 &&
        index.extent % index.tiling.cluster == 0 &&
        !__builtin_mul_overflow(index.block, int64_t{index.tiling.cluster}, &covered) &&
        covered <= kMostElements &&
        index.extent == ceil_div(index.size, covered) * index.tiling.cluster;
    if (index.tiling.digits.empty() || !digits_fit(index) || !fits) {
      fail(-1, fmt::format("index {}: expected digits whose product is its size, and as many tiles "
                           "for each core of a cluster as cover it",
                           index.name));
    }
  }

  /// Tiles extend over m and widths, two dimensions at most.
  void check_streams() {
    for (const Stream& stream : g_.streams) {
      if (!stream.block.empty() && of_tiles(stream, 2, kRowsG)) continue;
      fail(stream.producer,
           fmt::format("${} is not a stream of tiles over m and widths of at most {} "
                       "elements, expected one like val<m,a>[m,a]",
                       stream.name, kMostTileElements));
    }
  }

  // --- nodes -------------------------------------------------------------------------------

  void check_node(NodeId n) {
    const Node& at = node(n);
    switch (at.kind) {
      case NodeKind::tile_load:
        check_load(n, kMostRowCopies);
        return sound_ ? check_digits(n, dims_of(at.outputs[0])) : void();
      case NodeKind::map:
        expect_ports(n, static_cast<size_t>(op_info(at.op).arity), 1);
        return sound_ ? check_map(n) : void();
      case NodeKind::tile_multiply:
        expect_ports(n, 2, 1);
        return sound_ ? check_product(n) : void();
      case NodeKind::reduce:
        expect_ports(n, 1, 1);
        return sound_ ? check_reduce(n) : void();
      case NodeKind::gather:
        expect_ports(n, 1, 1);
        return sound_ ? check_gather(n) : void();
      case NodeKind::tile_store:
        expect_ports(n, 1, 0);
        return sound_ ? check_store(n) : void();
      default:
        return fail(n, "is not allowed in a kernel of rows");
    }
  }

  void expect_ports(NodeId n, size_t inputs, size_t outputs) {
    TileVerifier::expect_ports(n, inputs, outputs);
    for (const Input& input : node(n).inputs) {
      if (input.is_immediate() && node(n).kind != NodeKind::map) {
        fail(n, "takes tiles, not numbers");
      }
    }
  }

  /// Whether dimensions are those of rows: (m), or (m) and one width.
  static bool of_rows(const Dims& dims) {
    return dims.front() == kRowsM && (dims.size() == 1 || dims[1] >= kRowsWidths);
  }
  bool wide(const Input& input) const {
    const Dims& dims = dims_of(input.stream);
    return dims.size() == 2 && of_rows(dims);
  }

  /// Its result has every dimension of its operands, and is of rows.
  void check_map(NodeId n) {
    const Dims& dims = dims_of(node(n).outputs[0]);
    if (!node(n).contract.empty()) return fail(n, "cannot contract in a kernel of rows");
    if (!of_rows(dims)) return fail(n, "gives tiles that are not (m) or (m) and a width");
    check_takes_own(n);
    if (sound_) check_covers(n);
  }

  void check_product(NodeId n) {
    const Node& at = node(n);
    const Dims& result = dims_of(at.outputs[0]);
    const bool rows = wide(at.inputs[0]) && result.size() == 2 && of_rows(result);
    const int summed = rows ? dims_of(at.inputs[0].stream)[1] : -1;
    if (!rows || summed == result[1] || dims_of(at.inputs[1].stream) != Dims{summed, result[1]} ||
        producer(at.inputs[1]).kind != NodeKind::tile_load) {
      return fail(n, "expected tiles (m, a) and loads of tiles (a, b), and gives tiles (m, b)");
    }
    if (at.capacity < 1 || at.capacity > kMostAccumulators || !plain(at)) {
      return fail(n, fmt::format("expected a capacity of 1 to {} accumulators, no branch and no "
                                 "held bytes",
                                 kMostAccumulators));
    }
    const NodeKind left = producer(at.inputs[0]).kind;
    if (index(summed).tiling.cluster > 1 && left != NodeKind::tile_load &&
        left != NodeKind::gather) {
      fail(n, fmt::format("sums width {}, which is spread over {} cores, expected what is gathered",
                          index(summed).name, index(summed).tiling.cluster));
    }
  }

  void check_reduce(NodeId n) {
    const Node& at = node(n);
    const bool wanted = wide(at.inputs[0]) && dims_of(at.outputs[0]) == Dims{kRowsM};
    if (!wanted) return fail(n, "expected tiles (m, a), and gives tiles (m)");
    check_takes_own(n);
  }

  void check_takes_own(NodeId n) {
    for (const Input& input : node(n).inputs) {
      if (input.is_immediate() || producer(input).kind != NodeKind::gather) continue;
      return fail(n, "takes what is gathered, expected what its own core has");
    }
  }

  void check_gather(NodeId n) {
    const Node& at = node(n);
    if (!wide(at.inputs[0]) || dims_of(at.outputs[0]) != dims_of(at.inputs[0].stream)) {
      return fail(n, "expected tiles (m, a), and gives tiles (m, a)");
    }
    const GraphIndex& width = index(dims_of(at.outputs[0])[1]);
    const NodeKind from = producer(at.inputs[0]).kind;
    if (width.tiling.cluster == 1 || from == NodeKind::tile_load || from == NodeKind::gather) {
      fail(n, fmt::format("expected what cores compute of a width that is spread over several, "
                          "width {} has cluster={}",
                          width.name, width.tiling.cluster));
    }
  }

  /// Writes each element of the result once.
  void check_store(NodeId n) {
    stores_ = true;
    check_stores_once(n);
    Dims dims = dims_of(node(n).inputs[0].stream);
    if (!of_rows(dims)) return fail(n, "stores tiles that are not (m) or (m) and a width");
    const NodeKind from = producer(node(n).inputs[0]).kind;
    if (from == NodeKind::tile_load || from == NodeKind::gather) {
      return fail(n, "expected what its own core computed");
    }
    dims.push_back(kRowsG);
    check_subscripts(n, dims);
    if (sound_) check_elements_once(n, dims);
  }

  // --- subscripts --------------------------------------------------------------------------

  /// Those of a tile's dimensions, and g.
  void check_digits(NodeId n, Dims dims) {
    dims.push_back(kRowsG);
    check_subscripts(n, dims);
  }

  bool stores_ = false;
};

}  // namespace

void verify_rows(const Graph& graph, const TileError& error) {
  RowsVerifier(graph, error).run();
}

}  // namespace fuseflow
