#include "import/finish/edge_places.h"

#include <algorithm>
#include <map>

namespace fuseflow {

namespace {

/// The elements of edge `e` along `dim`, in order.
template <typename Visit>
void visit_edge(const ConstantTensor& values, size_t dim, int64_t e, const Visit& visit) {
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t d = 0; d < values.shape.size(); ++d) {
    if (d < dim) outer *= values.shape[d];
    if (d > dim) inner *= values.shape[d];
  }
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i)
      visit((o * values.shape[dim] + e) * inner + i, o * inner + i);
  }
}

/// The dimension of a dense constant that the statement reads edge by edge.
std::optional<size_t> plain_dim(const DraftProgram& draft, const EdgeClass& edges,
                                const Expr& access, IndexId edge) {
  const Draft& read = draft.tensors[static_cast<size_t>(access.tensor)];
  if (!read.data || read.data->sparse()) return std::nullopt;
  for (size_t d = 0; d < access.subscripts.size(); ++d) {
    if (!access.subscripts[d].is_plain() || access.subscripts[d].plain() != edge) continue;
    if (read.shape[d] == edges.edges) return d;
  }
  return std::nullopt;
}

/// Whether the statements of the class compute the same for all edges of a group, and edges of one
/// place may be counted.
class EqualEdges {
 public:
  EqualEdges(const DraftProgram& draft, const EdgeClass& edges,
             const std::vector<std::vector<int64_t>>& groups)
      : draft_(draft), edges_(edges), groups_(groups) {}

  bool all() const {
    return std::all_of(edges_.statements.begin(), edges_.statements.end(), [&](const auto& entry) {
      return in(draft_.statements[entry.first].statement, entry.second);
    });
  }

 private:
  bool in(const Statement& s, const EdgeStatement& made) const {
    if (made.kind == EdgeStatement::Kind::gather) return true;
    int32_t bits = -1;  // of a scatter
    if (made.reduction >= 0) {
      const Expr& reduction = s.nodes[static_cast<size_t>(made.reduction)];
      if (reduction.reduction == Reduction::prod) return false;
      if (made.kind == EdgeStatement::Kind::scatter)
        bits = s.nodes[static_cast<size_t>(reduction.children[0])].children[0];
    }
    for (size_t n = 0; n < s.nodes.size(); ++n) {
      const Expr& node = s.nodes[n];
      if (static_cast<int32_t>(n) == bits || node.kind != Expr::Kind::access) continue;
      if (edges_.values.contains(node.tensor) || !has_index(node, made.edge)) continue;
      const auto dim = plain_dim(draft_, edges_, node, made.edge);
      if (!dim || !alike(*draft_.tensors[static_cast<size_t>(node.tensor)].data, *dim))
        return false;
    }
    return true;
  }

  bool alike(const ConstantTensor& values, size_t dim) const {
    for (const std::vector<int64_t>& group : groups_) {
      std::vector<float> first;
      visit_edge(values, dim, group[0],
                 [&](int64_t at, int64_t) { first.push_back(values.as_float(at)); });
      for (const int64_t e : group) {
        bool same = true;
        visit_edge(values, dim, e, [&](int64_t at, int64_t n) {
          same = same && values.as_float(at) == first[static_cast<size_t>(n)];
        });
        if (!same) return false;
      }
    }
    return true;
  }

  const DraftProgram& draft_;
  const EdgeClass& edges_;
  const std::vector<std::vector<int64_t>>& groups_;
};

}  // namespace

std::vector<int64_t> EdgePlaces::shape() const {
  std::vector<int64_t> extents;
  extents.reserve(coordinates.size());
  for (const EdgeEnds& ends : coordinates) extents.push_back(ends.extent);
  return extents;
}

std::optional<EdgePlaces> edge_places(const DraftProgram& draft, const EdgeClass& edges) {
  // Also times the edges (edge_numbers) it must be a number of elements.
  constexpr int64_t kMost = int64_t{1} << 62;
  const int64_t most_places = std::min(int64_t{1} << 44, kMost / std::max<int64_t>(1, edges.edges));
  EdgePlaces places{edges.lists, std::vector<int64_t>(static_cast<size_t>(edges.edges), 0), false};
  int64_t size = 1;
  const auto add = [&](const EdgeEnds& ends) {
    if (__builtin_mul_overflow(size, ends.extent, &size) || size > most_places) return false;
    for (size_t e = 0; e < places.positions.size(); ++e)
      places.positions[e] = places.positions[e] * ends.extent + ends.nodes[e];
    return true;
  };
  for (const EdgeEnds& ends : edges.lists) {
    if (!add(ends)) return std::nullopt;
  }
  std::map<int64_t, std::vector<int64_t>> by_place;
  for (size_t e = 0; e < places.positions.size(); ++e)
    by_place[places.positions[e]].push_back(static_cast<int64_t>(e));
  std::vector<std::vector<int64_t>> equal;
  for (const auto& [place, group] : by_place) {
    if (group.size() > 1) equal.push_back(group);
  }
  if (equal.empty()) return places;
  if (EqualEdges(draft, edges, equal).all()) {
    places.counted = true;
    return places;
  }
  EdgeEnds number{std::vector<int64_t>(places.positions.size(), 0), 1};
  for (const std::vector<int64_t>& group : equal) {
    for (size_t n = 0; n < group.size(); ++n)
      number.nodes[static_cast<size_t>(group[n])] = static_cast<int64_t>(n);
    number.extent = std::max(number.extent, static_cast<int64_t>(group.size()));
  }
  if (!add(number)) return std::nullopt;
  places.coordinates.push_back(std::move(number));
  return places;
}

ConstantPtr edge_matrix(const EdgePlaces& places) {
  std::vector<std::pair<int64_t, float>> entries;
  entries.reserve(places.positions.size());
  for (const int64_t place : places.positions) entries.emplace_back(place, 1.0F);
  return constant_sparse(std::move(entries), places.shape(),
                         places.counted ? ElementType::f32 : ElementType::boolean);
}

ConstantPtr on_matrix(const EdgePlaces& places, const ConstantTensor& values, size_t dim) {
  std::vector<int64_t> shape = places.shape();
  int64_t inner = 1;
  for (size_t d = 0; d < values.shape.size(); ++d) {
    if (d == dim) continue;
    shape.push_back(values.shape[d]);
    inner *= values.shape[d];
  }
  std::vector<std::pair<int64_t, int64_t>> order;  // place, edge; of equal edges the first counts
  for (size_t e = 0; e < places.positions.size(); ++e)
    order.emplace_back(places.positions[e], static_cast<int64_t>(e));
  std::sort(order.begin(), order.end());
  std::vector<std::pair<int64_t, float>> entries;
  for (size_t k = 0; k < order.size(); ++k) {
    if (k > 0 && order[k].first == order[k - 1].first) continue;
    visit_edge(values, dim, order[k].second, [&](int64_t at, int64_t n) {
      entries.emplace_back(order[k].first * inner + n, values.as_float(at));
    });
  }
  return constant_sparse(std::move(entries), std::move(shape), values.type);
}

ConstantPtr edge_numbers(const EdgePlaces& places) {
  std::vector<int64_t> shape = places.shape();
  const auto edges = static_cast<int64_t>(places.positions.size());
  shape.push_back(edges);
  std::vector<std::pair<int64_t, float>> entries;
  for (int64_t e = 0; e < edges; ++e)
    entries.emplace_back(places.positions[static_cast<size_t>(e)] * edges + e, 1.0F);
  return constant_sparse(std::move(entries), std::move(shape), ElementType::boolean);
}

}  // namespace fuseflow
