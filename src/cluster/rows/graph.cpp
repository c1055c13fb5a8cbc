#include "cluster/rows/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "cluster/common/candidates.h"
#include "cluster/common/tile_graph.h"
#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

class RowsGraph : private TileGraphBuilder {
 public:
  RowsGraph(const RowsForm& form, const RowsTiles& tiles)
      : TileGraphBuilder(digits_of_loops(form.loops)), form_(form), tiles_(tiles) {
    made_.resize(form.terms.size());
    dimensions();
  }

  Graph build() {
    for (size_t t = 0; t < form_.terms.size(); ++t) make(static_cast<int32_t>(t));
    for (const RowsForm::Result& result : form_.results) {
      store(result.tensor, result.subscripts, given(result.term));
    }
    for (const auto& [from, of] : loads_) settle_copies(of);
    set_stored(graph_, form_.tensors);
    return take();
  }

 private:
  const RowsTerm& term(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }

  // --- dimensions --------------------------------------------------------------------------

  void dimensions() {
    dimension("m", loops_of(LoopRole::rows), tiles_.rows, tiles_.tall);
    dimension("g", loops_of(LoopRole::batch), 1);
    for (size_t w = 0; w < form_.widths.size(); ++w) {
      const int64_t size = form_.width(static_cast<int>(w));
      std::string name;
      for (size_t rest = w + 1; rest > 0; rest = (rest - 1) / 26) {
        name.insert(name.begin(), static_cast<char>('a' + (rest - 1) % 26));
      }
      // m and g are rows and the batch.
      if (name == "m" || name == "g") name += name;
      dimension(name, form_.widths[w], rows_column(size, tiles_), tiles_.wide);
    }
  }

  std::vector<int> loops_of(LoopRole role) const {
    return loops_that(form_.loops, [&](const SharedLoop& loop) { return loop.role == role; });
  }

  // --- nodes -------------------------------------------------------------------------------

  void make(int32_t t) {
    const RowsTerm& at = term(t);
    Node node;
    switch (at.kind) {
      case RowsTerm::Kind::load:
        return;  // by who takes it
      case RowsTerm::Kind::constant:
        made_[static_cast<size_t>(t)] = {-1, at.constant};
        return;
      case RowsTerm::Kind::map:
        node.kind = NodeKind::map;
        node.op = at.op;
        for (const int32_t child : at.children) node.inputs.push_back(given(child));
        break;
      case RowsTerm::Kind::reduce:
        if (at.is_product()) {
          node.kind = NodeKind::tile_multiply;
          node.capacity = tiles_.accumulators;
          node.inputs = {whole(at.children[0]), given(at.children[1])};
          break;
        }
        node.kind = NodeKind::reduce;
        node.reduction = at.reduction;
        node.init = identity(at.reduction);
        node.inputs = {given(at.children[0])};
        break;
      case RowsTerm::Kind::coordinate:
        break;  // rows have none
    }
    const char* const name = at.is_product() ? "c" : at.kind == RowsTerm::Kind::reduce ? "r" : "v";
    made_[static_cast<size_t>(t)] = add(std::move(node), dims_of(at), name);
  }

  static TileDims dims_of(const RowsTerm& at) {
    if (at.summed >= 0) return {kRowsWidths + at.summed, kRowsWidths + at.width};
    TileDims dims;
    if (at.of_rows || at.width < 0) dims.push_back(kRowsM);
    if (at.width >= 0) dims.push_back(kRowsWidths + at.width);
    return dims;
  }

  Input given(int32_t t) {
    const RowsTerm& at = term(t);
    if (at.kind != RowsTerm::Kind::load) return made_[static_cast<size_t>(t)];
    const auto known = loads_.find(t);
    if (known != loads_.end()) return known->second;
    return loads_[t] = load(at.tensor, at.subscripts, dims_of(at), tiles_.copies);
  }

  /// All tiles of a width, which a product sums: gathered where cores share it.
  Input whole(int32_t t) {
    const RowsTerm& at = term(t);
    if (at.kind == RowsTerm::Kind::load || tiles_.wide == 1) return given(t);
    const auto known = gathered_.find(t);
    if (known != gathered_.end()) return known->second;
    return gathered_[t] = add(node(NodeKind::gather, {given(t)}), dims_of(at), "a");
  }

  /// A load of rows that is taken again (by a product for each of its columns, by two loops) has
  /// room for all of its tiles; so have weights that are kept.
  void settle_copies(const Input& of) {
    Node& load =
        graph_.nodes[static_cast<size_t>(graph_.streams[static_cast<size_t>(of.stream)].producer)];
    const std::vector<bool> varies = varies_along(graph_, load);
    int64_t tiles = 1;
    for (size_t d = 0; d < varies.size(); ++d) {
      if (d != kRowsM && d != kRowsG && varies[d]) tiles *= graph_.indices[d].extent;
    }
    const bool twice = varies[kRowsM] && tiles_.copies > 1;  // those of the next rows, too
    const bool all = varies[kRowsM] ? taken_again(of.stream) : tiles_.keep;
    if (all) load.capacity = twice ? 2 * tiles : tiles;
    load.capacity = std::max<int64_t>(load.capacity, 1);
  }

  bool taken_again(StreamId s) const {
    int readers = 0;
    for (const Node& node : graph_.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].is_immediate() || node.inputs[i].stream != s) continue;
        if (node.kind == NodeKind::tile_multiply && i == 0) return true;
        ++readers;
      }
    }
    return readers > 1;
  }

  const RowsForm& form_;
  const RowsTiles& tiles_;
  std::vector<Input> made_;            ///< by term
  std::map<int32_t, Input> loads_;     ///< by term
  std::map<int32_t, Input> gathered_;  ///< by term
};

}  // namespace

int64_t rows_column(int64_t width, const RowsTiles& tiles) {
  const int64_t block = even_block(ceil_div(width, int64_t{tiles.wide}), tiles.column);
  return block < width ? ceil_div(block, tiles.unit) * tiles.unit : block;
}

Graph rows_graph(const RowsForm& form, const RowsTiles& tiles) {
  return RowsGraph(form, tiles).build();
}

}  // namespace fuseflow::cluster
