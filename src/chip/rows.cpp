#include "chip/rows.h"

#include <algorithm>

#include "chip/needs.h"
#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "support/ceil_div.h"

namespace fuseflow::chip {
namespace {

constexpr int64_t kRowsOfACopy = 4;  ///< of f32, in the 16 bytes that copies have at least

class CoreOfRows {
 public:
  explicit CoreOfRows(const Graph& graph)
      : g_(graph),
        shape_(rows_shape(graph)),
        wide_(rows_cluster(graph).wide),
        last_(last_loops(graph, shape_)) {}

  RowsOnCore build() {
    core_.room_of.assign(g_.streams.size(), -1);
    core_.ring_of.assign(g_.nodes.size(), -1);
    find_products();
    const bool multiplies = std::any_of(core_.products.begin(), core_.products.end(),
                                        [](const auto& of) { return !of.empty(); });
    core_.tile_rows = multiplies ? padded_block(g_, kRowsM)
                                 : ceil_div(g_.indices[kRowsM].block, kRowsOfACopy) * kRowsOfACopy;
    core_.on_core = wide_ > 1 || multiplies;
    if (!core_.on_core) return std::move(core_);
    give_rooms();
    give_rings();
    for (const TileLoop& loop : shape_.loops) {
      for (const NodeId n : loop.nodes) {
        if (node(n).kind == NodeKind::reduce) core_.reduced.push_back(node(n).outputs[0]);
      }
    }
    for (size_t loop = 0; loop < shape_.loops.size(); ++loop) choose_way(loop);
    return std::move(core_);
  }

 private:
  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  NodeId producer(StreamId s) const { return g_.streams[static_cast<size_t>(s)].producer; }

  void find_products() {
    needs_product_.assign(g_.streams.size(), false);
    left_.assign(g_.streams.size(), false);
    for (const TileLoop& loop : shape_.loops) {
      std::vector<NodeId>& products = core_.products.emplace_back();
      for (const NodeId n : loop.nodes) {
        const Node& at = node(n);
        bool needs = at.kind == NodeKind::tile_multiply;
        if (needs) products.push_back(n);
        if (needs) left_[static_cast<size_t>(at.inputs[0].stream)] = true;
        for (const Input& input : at.inputs) {
          needs = needs || (!input.is_immediate() && at.kind != NodeKind::reduce &&
                            needs_product_[static_cast<size_t>(input.stream)]);
        }
        for (const StreamId s : at.outputs) needs_product_[static_cast<size_t>(s)] = needs;
      }
    }
  }

  /// A stream that is gathered lies where all tiles of it come to lie.
  void give_rooms() {
    std::vector<int> taken_until;  // by room: the last loop that reads what it has
    for (int loop = 0; loop < static_cast<int>(shape_.loops.size()); ++loop) {
      for (const NodeId n : shape_.loops[static_cast<size_t>(loop)].nodes) {
        const bool everywhere = node(n).kind == NodeKind::gather;
        for (const StreamId s : node(n).outputs) {
          if (rows_width(g_, s) < 0 || !read_later(s, loop)) continue;
          const RowsRoom wanted = room_for(s, everywhere);
          const size_t room = take_place(core_.rooms, wanted, [&](size_t at) {
            return !everywhere && taken_until[at] < loop && core_.rooms[at] == wanted;
          });
          taken_until.resize(core_.rooms.size());
          taken_until[room] = last_[static_cast<size_t>(s)];
          core_.room_of[static_cast<size_t>(s)] = static_cast<int>(room);
          if (everywhere)
            core_.room_of[static_cast<size_t>(node(n).inputs[0].stream)] = static_cast<int>(room);
        }
      }
    }
  }

  bool read_later(StreamId s, int loop) const {
    const auto at = static_cast<size_t>(s);
    const bool gathered = node(producer(s)).kind == NodeKind::gather;
    return last_[at] > loop && (gathered || left_[at] || needs_product_[at]) && !is_gathered(s);
  }
  bool is_gathered(StreamId s) const {
    return std::any_of(g_.nodes.begin(), g_.nodes.end(), [&](const Node& n) {
      return n.kind == NodeKind::gather && n.inputs[0].stream == s;
    });
  }
  RowsRoom room_for(StreamId s, bool everywhere) const {
    const int width = rows_width(g_, s);
    const GraphIndex& index = g_.indices[static_cast<size_t>(width)];
    return {padded_block(g_, kRowsM), padded_block(g_, width),
            everywhere ? index.extent : index.extent / index.tiling.cluster, everywhere};
  }
  /// Rows that a product takes stay; weights share rings where the plan's share buffers and they
  /// are brought in the same way: what the copy engine brings for several cores takes turns at it.
  void give_rings() {
    std::vector<std::pair<int, bool>> brought;  // by ring: the plan's buffer, whether by threads
    for (const std::vector<NodeId>& products : core_.products) {
      for (const NodeId n : products) {
        for (const size_t side : {size_t{0}, size_t{1}}) {
          const NodeId load = producer(node(n).inputs[side].stream);
          if (node(load).kind != NodeKind::tile_load || ring_of(load) >= 0) continue;
          const std::vector<int>& dims =
              g_.streams[static_cast<size_t>(node(load).outputs[0])].block;
          int64_t bytes = moved_bytes(g_, node(load));
          for (const int dim : dims) bytes *= padded_block(g_, dim);
          const int buffer = shape_.buffer_of[static_cast<size_t>(load)];
          const std::pair<int, bool> how{buffer, node(load).tile.by_threads};
          RowsRing ring{shape_.buffers[static_cast<size_t>(buffer)].copies, bytes, side == 0};
          if (side == 0) ring.copies = g_.indices[static_cast<size_t>(dims[1])].extent;
          const size_t at = take_place(core_.rings, ring, [&](size_t other) {
            return side == 1 && !core_.rings[other].whole && brought[other] == how &&
                   core_.rings[other].bytes == bytes;
          });
          brought.resize(core_.rings.size(), how);
          core_.ring_of[static_cast<size_t>(load)] = static_cast<int>(at);
        }
      }
    }
  }
  int ring_of(NodeId load) const { return core_.ring_of[static_cast<size_t>(load)]; }

  /// Direct where a loop has one result, which all of its products (one or two) give.
  void choose_way(size_t loop) {
    core_.ways.push_back(RowsWay::rows);
    const std::vector<NodeId>& products = core_.products[loop];
    std::vector<StreamId> results;
    bool reduces = false;
    for (const NodeId n : shape_.loops[loop].nodes) {
      const Node& at = node(n);
      reduces = reduces || at.kind == NodeKind::reduce;
      std::vector<StreamId> given = at.outputs;
      if (at.kind == NodeKind::tile_store) given = {at.inputs[0].stream};
      for (const StreamId s : given) {
        const bool result =
            at.kind == NodeKind::tile_store ||
            (at.kind != NodeKind::gather && core_.room_of[static_cast<size_t>(s)] >= 0);
        if (result && std::count(results.begin(), results.end(), s) == 0) results.push_back(s);
      }
    }
    const bool direct = !reduces && results.size() == 1 && !products.empty() &&
                        products.size() <= 2 && takes_all(results[0], products);
    if (direct) {
      core_.ways.back() = RowsWay::direct;
      return;
    }
    for (size_t i = 0; i < products.size(); ++i) {
      const SumsSize sums = product_sums(g_, node(products[i]));
      if (i == core_.staged.size()) core_.staged.emplace_back();
      core_.staged[i].rows = std::max(core_.staged[i].rows, sums.rows);
      core_.staged[i].columns = std::max(core_.staged[i].columns, sums.columns);
    }
  }
  bool takes_all(StreamId s, const std::vector<NodeId>& products) const {
    std::vector<NodeId> found, open{producer(s)};
    while (!open.empty()) {
      const NodeId n = open.back();
      open.pop_back();
      if (std::count(found.begin(), found.end(), n) != 0) continue;
      found.push_back(n);
      if (node(n).kind != NodeKind::map) continue;
      for (const Input& input : node(n).inputs) {
        if (!input.is_immediate()) open.push_back(producer(input.stream));
      }
    }
    return std::all_of(products.begin(), products.end(),
                       [&](NodeId p) { return std::count(found.begin(), found.end(), p) != 0; });
  }

  const Graph& g_;
  const RowsShape shape_;
  const int wide_;
  const std::vector<int> last_;  ///< by stream: the last loop that reads it
  RowsOnCore core_;
  std::vector<bool> needs_product_, left_;  ///< by stream: of products; left operands of some
};

}  // namespace

RowsOnCore rows_on_core(const Graph& graph) {
  return CoreOfRows(graph).build();
}

SumsSize product_sums(const Graph& graph, const Node& product) {
  return {padded_block(graph, kRowsM), padded_block(graph, rows_width(graph, product.outputs[0]))};
}

Needs rows_needs(const Graph& graph, const RowsOnCore& core) {
  Needs needs;
  for (const RowsRing& ring : core.rings)
    needs.rings.push_back({ring.copies, ring.bytes, ring.whole ? ring.copies : 1});
  for (const std::vector<NodeId>& products : core.products) {
    std::vector<SumsSize> alive;
    for (const NodeId n : products)
      alive.push_back(product_sums(graph, graph.nodes[static_cast<size_t>(n)]));
    if (!alive.empty()) needs.sums.push_back(std::move(alive));
  }
  if (!core.on_core) return needs;
  const int64_t wide = rows_cluster(graph).wide;
  for (const RowsRoom& room : core.rooms) {
    needs.rooms.push_back(room.tiles * room.rows * room.columns * graph.tiles->element_bytes);
    if (room.everywhere) needs.barriers += kBroadcastBarriers;
  }
  for (const SumsSize& sums : core.staged)
    needs.rooms.push_back(sums.rows * sums.columns * kSumBytes);
  for (size_t r = 0; r < core.reduced.size(); ++r) {
    needs.rooms.push_back(wide * core.tile_rows * kSumBytes);
    if (wide > 1) needs.barriers += kBroadcastBarriers;
  }
  return needs;
}

}  // namespace fuseflow::chip
