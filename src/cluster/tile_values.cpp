#include "cluster/tile_values.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fuseflow::cluster {
namespace {

using Tile = std::vector<float>;  ///< row-major

/// Evaluates one cluster's graph at its coordinates.
class ClusterValues {
 public:
  ClusterValues(const Chain& chain, const Plan& plan, const TileGraph& graph, const ClusterAt& at,
                const ChainData& data, std::vector<float>& e)
      : chain_(chain), plan_(plan), graph_(graph), at_(at), data_(data), e_(e) {
    values_.resize(graph.nodes.size());
  }

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      values_[i] = value_of(graph_.nodes[i]);
    }
  }

 private:
  const Tile& operand(const TileNode& node, int32_t which) const {
    return values_[static_cast<size_t>(operand_id(node, which))];
  }
  const TileNode& operand_node(const TileNode& node, int32_t which) const {
    return graph_.nodes[static_cast<size_t>(operand_id(node, which))];
  }
  int32_t operand_id(const TileNode& node, int32_t which) const {
    return graph_.edges[static_cast<size_t>(node.first_operand + which)];
  }

  /// Elements between this cluster's tiles and those of the cluster at the origin.
  int64_t shift(Dim dim) const {
    const bool whole_k = dim == Dim::k && plan_.way == GatedWay::split;
    return at_[dim] * (whole_k ? 1 : plan_.shape.along(dim)) * plan_.tile[dim];
  }

  Tile value_of(const TileNode& node) {
    switch (node.kind) {
      case TileKind::load:
        return load(node);
      case TileKind::multiply:
        return multiply(node);
      case TileKind::send:
        return send(node);
      case TileKind::sum:
        return sum(node);
      case TileKind::finish:
        return finish(node);
      case TileKind::reduce:
        return reduce(node);
      case TileKind::store:
        return store(node);
      case TileKind::fetch:
      case TileKind::spill:
      case TileKind::refill:
      case TileKind::map:
        return operand(node, 0);
    }
    return {};
  }

  Tile load(const TileNode& node) const {
    const auto branch = static_cast<size_t>(node.branch);
    switch (node.tensor) {
      case TileTensor::a:
        return cut(data_.a, Dim::m, Dim::k, node);
      case TileTensor::b:
        return cut(data_.b[branch], Dim::k, Dim::n, node);
      case TileTensor::d:
        return cut(data_.d, Dim::n, Dim::l, node);
      case TileTensor::residual:
        return cut(data_.residual, Dim::m, Dim::l, node);
      case TileTensor::bias0:
        return cut_row(data_.bias0[branch], Dim::n, node);
      case TileTensor::bias1:
        return cut_row(data_.bias1, Dim::l, node);
      default:
        throw Error(ExitCode::internal, "a tile load of an unknown tensor");
    }
  }

  Tile cut(const std::vector<float>& from, Dim row_dim, Dim col_dim, const TileNode& node) const {
    const int64_t width = chain_.size[col_dim];
    Tile tile;
    tile.reserve(static_cast<size_t>(node.rows) * static_cast<size_t>(node.cols));
    for (int64_t r = 0; r < node.rows; ++r) {
      const int64_t begin = (node.row + shift(row_dim) + r) * width + node.col + shift(col_dim);
      tile.insert(tile.end(), from.begin() + begin, from.begin() + begin + node.cols);
    }
    return tile;
  }

  Tile cut_row(const std::vector<float>& from, Dim col_dim, const TileNode& node) const {
    const int64_t begin = node.col + shift(col_dim);
    return Tile(from.begin() + begin, from.begin() + begin + node.cols);
  }

  /// Operands: an accumulator last when there is one. The left tile is a or a C slice.
  Tile multiply(const TileNode& node) const {
    const Tile& left = operand(node, 0);
    const Tile& right = operand(node, 1);
    const auto rows = static_cast<size_t>(node.rows), cols = static_cast<size_t>(node.cols);
    const size_t depth = left.size() / rows;
    Tile out = node.operands == 3 ? operand(node, 2) : Tile(rows * cols, 0.0F);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t k = 0; k < depth; ++k) {
        const float x = left[i * depth + k];
        for (size_t j = 0; j < cols; ++j) {
          out[i * cols + j] += x * right[k * cols + j];
        }
      }
    }
    return out;
  }

  /// Operands one after the other (two branches, or a partial and its bias).
  Tile send(const TileNode& node) const {
    Tile out;
    const bool biased = node.operands > 1 && operand_node(node, 1).kind == TileKind::load;
    if (biased) {
      out = operand(node, 0);
      add_row(out, operand(node, 1));
      return out;
    }
    for (int32_t i = 0; i < node.operands; ++i) {
      out.insert(out.end(), operand(node, i).begin(), operand(node, i).end());
    }
    return out;
  }

  static void add_row(Tile& tile, const Tile& row) {
    for (size_t i = 0; i < tile.size(); ++i) {
      tile[i] += row[i % row.size()];
    }
  }

  /// This core's rows of one branch, summed over the senders. `operands` counts the senders.
  Tile share(const TileNode& node, int32_t from, int32_t to, size_t branch) const {
    const size_t size = static_cast<size_t>(node.rows) * static_cast<size_t>(node.cols);
    const size_t begin = branch * size * node.parts + node.part * size;
    Tile out(size, 0.0F);
    for (int32_t i = from; i < to; ++i) {
      const Tile& sent = operand(node, i);
      for (size_t j = 0; j < size; ++j) {
        out[j] += sent[begin + j];
      }
    }
    return out;
  }

  Tile activated(Tile gate, const Tile* up) const {
    for (size_t i = 0; i < gate.size(); ++i) {
      gate[i] = static_cast<float>(apply(chain_.activation, gate[i]));
      if (up != nullptr) {
        gate[i] *= (*up)[i];
      }
    }
    return gate;
  }

  Tile sum(const TileNode& node) const {
    const auto senders = static_cast<int32_t>(node.parts);
    if (plan_.way == GatedWay::split) {
      const Tile up = share(node, 1, 2, 0);
      return activated(share(node, 0, 1, 0), &up);
    }
    Tile gate = share(node, 0, senders, 0);
    if (chain_.bias0) {
      add_row(gate, operand(node, senders));
    }
    if (plan_.way == GatedWay::none) {
      return activated(std::move(gate), nullptr);
    }
    Tile up = share(node, 0, senders, 1);
    if (chain_.bias0) {
      add_row(up, operand(node, senders + 1));
    }
    return activated(std::move(gate), &up);
  }

  Tile finish(const TileNode& node) const {
    if (node.parts > 1) {  // gathered, already activated rows in order
      Tile out;
      for (int32_t i = 0; i < node.operands; ++i) {
        out.insert(out.end(), operand(node, i).begin(), operand(node, i).end());
      }
      return out;
    }
    const int32_t branches = plan_.way == GatedWay::sequential ? 2 : 1;
    Tile gate = operand(node, 0);
    if (chain_.bias0) {
      add_row(gate, operand(node, branches));
    }
    if (branches == 1) {
      return activated(std::move(gate), nullptr);
    }
    Tile up = operand(node, 1);
    if (chain_.bias0) {
      add_row(up, operand(node, branches + 1));
    }
    return activated(std::move(gate), &up);
  }

  Tile reduce(const TileNode& node) const { return share(node, 0, node.operands, 0); }

  Tile store(const TileNode& node) {
    Tile out = operand(node, 0);
    for (int32_t i = 1; i < node.operands; ++i) {
      add_row(out, operand(node, i));  // a bias row, or a whole residual tile
    }
    const int64_t width = chain_.size[Dim::l];
    for (int64_t r = 0; r < node.rows; ++r) {
      const int64_t begin = (node.row + shift(Dim::m) + r) * width + node.col + shift(Dim::l);
      for (int64_t c = 0; c < node.cols; ++c) {
        e_[static_cast<size_t>(begin + c)] += out[static_cast<size_t>(r * node.cols + c)];
      }
    }
    return {};
  }

  const Chain& chain_;
  const Plan& plan_;
  const TileGraph& graph_;
  const ClusterAt& at_;
  const ChainData& data_;
  std::vector<float>& e_;
  std::vector<Tile> values_;
};

/// splitmix64, so that values do not depend on a library.
uint64_t next_random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::vector<float> whole_numbers(int64_t count, uint64_t& state, float scale) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = scale * (static_cast<float>(next_random(state) % 5) - 2.0F);
  }
  return values;
}

}  // namespace

ChainData make_data(const Chain& chain, uint64_t seed, float scale) {
  const int64_t m = chain.size[Dim::m], n = chain.size[Dim::n], k = chain.size[Dim::k],
                l = chain.size[Dim::l];
  uint64_t state = seed;
  ChainData data;
  data.a = whole_numbers(m * k, state, scale);
  data.d = whole_numbers(n * l, state, scale);
  for (size_t branch = 0; branch < (chain.gated() ? 2U : 1U); ++branch) {
    data.b[branch] = whole_numbers(k * n, state, scale);
    data.bias0[branch] = whole_numbers(chain.bias0 ? n : 0, state, scale);
  }
  data.bias1 = whole_numbers(chain.bias1 ? l : 0, state, scale);
  data.residual = whole_numbers(chain.residual ? m * l : 0, state, scale);
  return data;
}

std::vector<double> reference_e(const Chain& chain, const ChainData& data) {
  const auto m = static_cast<size_t>(chain.size[Dim::m]),
             n = static_cast<size_t>(chain.size[Dim::n]),
             k = static_cast<size_t>(chain.size[Dim::k]),
             l = static_cast<size_t>(chain.size[Dim::l]);
  std::vector<double> e(m * l, 0.0);
  std::vector<double> row(n), up(n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t branch = 0; branch < (chain.gated() ? 2U : 1U); ++branch) {
      std::vector<double>& out = branch == 0 ? row : up;
      for (size_t j = 0; j < n; ++j) {
        double sum = chain.bias0 ? data.bias0[branch][j] : 0.0;
        for (size_t q = 0; q < k; ++q) {
          sum += static_cast<double>(data.a[i * k + q]) * data.b[branch][q * n + j];
        }
        out[j] = sum;
      }
    }
    for (size_t j = 0; j < n; ++j) {
      const double c = apply(chain.activation, row[j]) * (chain.gated() ? up[j] : 1.0);
      for (size_t q = 0; q < l; ++q) {
        e[i * l + q] += c * data.d[j * l + q];
      }
    }
    for (size_t q = 0; q < l; ++q) {
      e[i * l + q] +=
          (chain.bias1 ? data.bias1[q] : 0.0F) + (chain.residual ? data.residual[i * l + q] : 0.0F);
    }
  }
  return e;
}

std::vector<float> evaluate_graph(const Chain& chain, const Plan& plan, const Analysis& analysis,
                                  const ChainData& data) {
  std::vector<float> e(static_cast<size_t>(chain.size[Dim::m] * chain.size[Dim::l]), 0.0F);
  const TileGraph first = build_graph(chain, plan, analysis, true);
  const TileGraph other = build_graph(chain, plan, analysis, false);
  for (const ClusterAt& at : clusters_of(plan, analysis.trips)) {
    const bool epilogue = at[Dim::n] == 0 && at[Dim::k] == 0;
    ClusterValues(chain, plan, epilogue ? first : other, at, data, e).run();
  }
  return e;
}

}  // namespace fuseflow::cluster
