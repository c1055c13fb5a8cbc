#include "sim/tiles/values.h"

#include <array>
#include <map>

#include "sim/tiles/expand.h"
#include "sim/tiles/places.h"
#include "sim/tiles/tile_access.h"
#include "sim/tiles/tile_math.h"

namespace fuseflow {
namespace {

/// Operands and results of a graph of tiles.
struct Operands {
  struct Source {
    const Storage* storage = nullptr;
    TileAccess at;
  };
  std::map<NodeId, Source> loads;
};

/// Evaluates one cluster's operations at its coordinates.
class ClusterValues {
 public:
  ClusterValues(const Graph& graph, const TileOps& ops, const ClusterAt& at,
                const Operands& operands, std::vector<float>& e)
      : graph_(graph),
        roles_(tile_roles(graph)),
        geometry_(tile_geometry(graph)),
        ops_(ops),
        at_(at),
        operands_(operands),
        e_(e) {}

  void run() {
    values_.resize(ops_.nodes.size());
    uses_.assign(ops_.nodes.size(), 0);
    for (const TileOp& op : ops_.nodes) {
      for (int32_t i = 0; i < op.operands; ++i) ++uses_[operand_id(op, i)];
    }
    for (size_t i = 0; i < ops_.nodes.size(); ++i) {
      const TileOp& op = ops_.nodes[i];
      values_[i] = value_of(op);
      for (int32_t k = 0; k < op.operands; ++k) {
        const size_t used = operand_id(op, k);
        if (--uses_[used] == 0) Tile().swap(values_[used]);
      }
    }
  }

 private:
  size_t operand_id(const TileOp& op, int32_t which) const {
    return static_cast<size_t>(
        ops_.edges[static_cast<size_t>(op.first_operand) + static_cast<size_t>(which)]);
  }
  const Tile& operand(const TileOp& op, int32_t which) const {
    return values_[operand_id(op, which)];
  }
  const Node& node(NodeId n) const { return graph_.nodes[n]; }

  /// Elements between this cluster's tiles and those of the cluster at the origin.
  int64_t shift(Dim dim) const {
    const bool whole_k = dim == Dim::k && graph_.tiles->way == GatedWay::split;
    return at_[dim] * (whole_k ? 1 : geometry_.shape.along(dim)) * geometry_.tile[dim];
  }

  Tile value_of(const TileOp& op) {
    switch (op.kind) {
      case TileOpKind::load:
        return load(op);
      case TileOpKind::multiply:
        return multiply(op);
      case TileOpKind::send:
        return joined(op);
      case TileOpKind::sum:
        return sum(op);
      case TileOpKind::finish:
        return op.parts > 1 ? joined(op) : finish(op);
      case TileOpKind::reduce:
        return share(op, 0, op.operands, 0);
      case TileOpKind::store:
        return store(op);
      case TileOpKind::fetch:
      case TileOpKind::spill:
      case TileOpKind::refill:
      case TileOpKind::map:
        return operand(op, 0);
    }
    return {};
  }

  Tile load(const TileOp& op) const {
    const Operands::Source& source = operands_.loads.at(op.node);
    const std::vector<int>& dims =
        graph_.streams[static_cast<size_t>(node(op.node).outputs[0])].block;
    std::vector<ElementRange> ranges;
    if (dims.size() > 1) ranges.push_back({op.row + shift(static_cast<Dim>(dims[0])), op.rows});
    ranges.push_back({op.col + shift(static_cast<Dim>(dims.back())), op.cols});
    Tile tile;
    tile.reserve(static_cast<size_t>(op.rows) * static_cast<size_t>(op.cols));
    source.at.for_each_in(
        ranges, [&](int64_t position) { tile.push_back(element_at(*source.storage, position)); });
    return tile;
  }

  /// Operands: an accumulator last when there is one; no other operation reads that.
  Tile multiply(const TileOp& op) {
    const Tile& left = operand(op, 0);
    const Tile& right = operand(op, 1);
    const auto rows = static_cast<size_t>(op.rows), cols = static_cast<size_t>(op.cols);
    Tile out = op.operands == 3 ? std::move(values_[operand_id(op, 2)]) : Tile(rows * cols, 0.0F);
    const size_t depth = left.size() / rows;
    add_product(left.data(), right.data(), out.data(), {rows, depth, cols, depth});
    return out;
  }

  Tile joined(const TileOp& op) const {
    Tile out;
    for (int32_t i = 0; i < op.operands; ++i) {
      out.insert(out.end(), operand(op, i).begin(), operand(op, i).end());
    }
    return out;
  }

  /// This core's rows of one branch, summed over the senders from ... to - 1.
  Tile share(const TileOp& op, int32_t from, int32_t to, size_t branch) const {
    const size_t size = static_cast<size_t>(op.rows) * static_cast<size_t>(op.cols);
    const size_t begin = branch * size * op.parts + op.part * size;
    Tile out(size, 0.0F);
    for (int32_t i = from; i < to; ++i) {
      const Tile& sent = operand(op, i);
      for (size_t j = 0; j < size; ++j) out[j] += sent[begin + j];
    }
    return out;
  }

  /// Streams by number: tiles of the operation's size, or rows of its width.
  using Known = std::map<StreamId, const Tile*>;

  /// The last of `maps`, elements beyond the sizes of the chain 0.
  Tile mapped(const TileOp& op, const std::vector<NodeId>& maps, Known known, Dim row_dim,
              Dim col_dim, Tile result) const {
    std::vector<Tile> made;
    made.reserve(maps.size());
    for (const NodeId n : maps) {
      made.push_back(apply_map(op, node(n), known));
      known[node(n).outputs[0]] = &made.back();
    }
    if (!made.empty()) result = std::move(made.back());
    clear_padding(op, row_dim, col_dim, result);
    return result;
  }

  static Tile apply_map(const TileOp& op, const Node& map, const Known& known) {
    const auto rows = static_cast<size_t>(op.rows), cols = static_cast<size_t>(op.cols);
    Tile out(rows * cols);
    std::vector<const float*> from(map.inputs.size());
    std::vector<int> strides(map.inputs.size());
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < map.inputs.size(); ++i) {
        const Input& input = map.inputs[i];
        strides[i] = input.is_immediate() ? 0 : 1;
        if (input.is_immediate()) {
          from[i] = &input.immediate;
          continue;
        }
        const Tile& tile = *known.at(input.stream);
        from[i] = tile.data() + (tile.size() == cols ? 0 : r * cols);
      }
      evaluate_many(map.op, from, strides, out.data() + r * cols, static_cast<int64_t>(cols));
    }
    return out;
  }

  void clear_padding(const TileOp& op, Dim row_dim, Dim col_dim, Tile& tile) const {
    const int64_t rows = geometry_.size[row_dim] - (op.row + shift(row_dim));
    const int64_t cols = geometry_.size[col_dim] - (op.col + shift(col_dim));
    if (rows >= op.rows && cols >= op.cols) return;
    for (int64_t r = 0; r < op.rows; ++r) {
      for (int64_t c = r < rows ? std::max<int64_t>(cols, 0) : 0; c < op.cols; ++c) {
        tile[static_cast<size_t>(r * op.cols + c)] = 0;
      }
    }
  }

  /// The vectors that maps take are the operands from `first` on.
  void know_loads(const TileOp& op, int32_t first, const std::vector<NodeId>& loads,
                  Known& known) const {
    for (size_t i = 0; i < loads.size(); ++i) {
      known[node(loads[i]).outputs[0]] = &operand(op, first + static_cast<int32_t>(i));
    }
  }

  Tile sum(const TileOp& op) const {
    const auto senders = static_cast<int32_t>(op.parts);
    const bool split = graph_.tiles->way == GatedWay::split;
    std::vector<Tile> branches;
    branches.reserve(static_cast<size_t>(roles_.branches));
    for (int b = 0; b < roles_.branches; ++b) {
      branches.push_back(split ? share(op, b, b + 1, 0)
                               : share(op, 0, senders, static_cast<size_t>(b)));
    }
    Known known;
    for (size_t b = 0; b < branches.size(); ++b) {
      known[node(roles_.exchange).outputs[b]] = &branches[b];
    }
    know_loads(op, senders, roles_.first_loads, known);
    return mapped(op, roles_.first_maps, known, Dim::m, Dim::n, branches[0]);
  }

  Tile finish(const TileOp& op) const {
    Known known;
    for (int b = 0; b < roles_.branches; ++b) {
      known[node(roles_.product[b]).outputs[0]] = &operand(op, b);
    }
    know_loads(op, roles_.branches, roles_.first_loads, known);
    return mapped(op, roles_.first_maps, known, Dim::m, Dim::n, operand(op, 0));
  }

  /// What follows the second product is sums alone: clusters that do not add it store their share.
  Tile store(const TileOp& op) {
    Tile out = operand(op, 0);
    if (adds_epilogue(at_) && !roles_.last_maps.empty()) {
      Known known;
      const NodeId from = roles_.scatter >= 0 ? roles_.scatter : roles_.second;
      known[node(from).outputs[0]] = &operand(op, 0);
      know_loads(op, 1, roles_.last_loads, known);
      out = mapped(op, roles_.last_maps, known, Dim::m, Dim::l, std::move(out));
    }
    const int64_t first_row = op.row + shift(Dim::m), first_col = op.col + shift(Dim::l);
    const int64_t width = geometry_.size[Dim::l];
    for (int64_t r = 0; r < op.rows && first_row + r < geometry_.size[Dim::m]; ++r) {
      for (int64_t c = 0; c < op.cols && first_col + c < width; ++c) {
        e_[(first_row + r) * width + first_col + c] += out[static_cast<size_t>(r * op.cols + c)];
      }
    }
    return {};
  }

  const Graph& graph_;
  const TileRoles roles_;
  const TileGeometry geometry_;
  const TileOps& ops_;
  const ClusterAt& at_;
  const Operands& operands_;
  std::vector<float>& e_;
  std::vector<Tile> values_;
  std::vector<int32_t> uses_;
};

Operands operands_of(const Program& program, const Graph& graph, const TensorData& data) {
  Operands operands;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind != NodeKind::tile_load) continue;
    require_dense(program, data, node.tensor);
    const Storage* storage = data.find(node.tensor);
    const std::vector<int>& dims = graph.streams[node.outputs[0]].block;
    operands.loads.emplace(static_cast<NodeId>(n),
                           Operands::Source{storage, TileAccess(graph, node, dims, -1,
                                                                storage->format, storage->shape)});
  }
  return operands;
}

}  // namespace

std::shared_ptr<const Storage> tile_values(const Program& program, const Graph& graph,
                                           const TensorData& data,
                                           const std::function<bool()>& go_on) {
  const TileRoles roles = tile_roles(graph);
  const TileGeometry geometry = tile_geometry(graph);
  const int64_t rows = geometry.size[Dim::m], cols = geometry.size[Dim::l];
  const Node& store = graph.nodes[roles.store];
  TileResult result(program, store.tensor, {rows, cols});
  const Operands operands = operands_of(program, graph, data);
  const TileOps first = expand_tiles(graph, true);
  const TileOps other = expand_tiles(graph, false);
  std::vector<float> e(static_cast<size_t>(rows * cols), 0.0F);
  for (const ClusterAt& at : clusters_of(graph)) {
    if (!go_on()) return nullptr;
    ClusterValues(graph, adds_epilogue(at) ? first : other, at, operands, e).run();
  }
  const TileAccess to(graph, store, {index_of(Dim::m), index_of(Dim::l)}, -1,
                      result.tensor().format, result.shape());
  const float* next = e.data();
  to.for_each_in(std::array{ElementRange{0, rows}, ElementRange{0, cols}},
                 [&](int64_t position) { result.put(position, *next++); });
  return result.done(program);
}

}  // namespace fuseflow
