// Orders of a region's indices: cycles of constraints, the default order, and whether a given order
// is legal.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>

#include "lower/region_indices.h"

namespace fuseflow {

namespace {

/// Adjacency by index; an edge is its position in RegionIndices::edges.
class OrderGraph {
 public:
  explicit OrderGraph(const RegionIndices& indices)
      : indices_(indices), out_(indices.indices.size()) {}

  void add(int edge) { out_[indices_.edges[edge].before].push_back(edge); }

  void remove_last(int edge) { out_[indices_.edges[edge].before].pop_back(); }

  /// Edges of a shortest path, empty if there is none (or from == to).
  std::vector<int> path(int from, int to) const {
    std::vector<int> via(out_.size(), -1);
    std::vector<bool> seen(out_.size(), false);
    std::deque<int> queue{from};
    seen[from] = true;
    while (!queue.empty() && !seen[to]) {
      const int node = queue.front();
      queue.pop_front();
      for (const int edge : out_[node]) {
        const int next = indices_.edges[edge].after;
        if (seen[next]) continue;
        seen[next] = true;
        via[next] = edge;
        queue.push_back(next);
      }
    }
    std::vector<int> result;
    for (int node = to; seen[to] && node != from; node = indices_.edges[via[node]].before) {
      result.insert(result.begin(), via[node]);
    }
    return result;
  }

  /// Whether there is such a path.
  bool reaches(int from, int to) {
    if (from == to || out_[from].empty()) return false;
    seen_.assign(out_.size(), false);
    std::vector<int> todo{from};
    while (!todo.empty()) {
      const int node = todo.back();
      todo.pop_back();
      for (const int edge : out_[node]) {
        const int next = indices_.edges[edge].after;
        if (next == to) return true;
        if (seen_[next]) continue;
        seen_[next] = true;
        todo.push_back(next);
      }
    }
    return false;
  }

  /// The topological sort that takes the least index possible each time; without what is on a
  /// cycle or after one.
  std::vector<int> sort() const {
    std::vector<int> waiting(out_.size(), 0);
    for (const auto& edges : out_) {
      for (const int edge : edges) ++waiting[indices_.edges[edge].after];
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t index = 0; index < out_.size(); ++index) {
      if (waiting[index] == 0) ready.push(static_cast<int>(index));
    }
    std::vector<int> result;
    while (!ready.empty()) {
      const int next = ready.top();
      ready.pop();
      result.push_back(next);
      for (const int edge : out_[next]) {
        const int after = indices_.edges[edge].after;
        if (--waiting[after] == 0) ready.push(after);
      }
    }
    return result;
  }

  bool has_cycle() const { return sort().size() < out_.size(); }

  std::vector<OrderEdge> edges() const {
    std::vector<OrderEdge> all;
    for (const auto& edges : out_) {
      for (const int edge : edges) all.push_back(indices_.edges[edge]);
    }
    return all;
  }

 private:
  const RegionIndices& indices_;
  std::vector<std::vector<int>> out_;
  std::vector<bool> seen_;  ///< of the last search
};

std::string edge_text(const RegionIndices& indices, const OrderEdge& edge) {
  return fmt::format("{} before {} ({})", indices.indices[edge.before].name,
                     indices.indices[edge.after].name, edge.reason);
}

std::string cycle_text(const RegionIndices& indices, const std::vector<OrderEdge>& cycle) {
  std::vector<std::string> parts;
  parts.reserve(cycle.size());
  for (const OrderEdge& edge : cycle) parts.push_back(edge_text(indices, edge));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// An intermediate on a cycle whose storing would take an edge away: the streamed ones first.
TensorId culprit(const std::vector<OrderEdge>& cycle) {
  for (const OrderEdge& edge : cycle) {
    if (edge.kind == EdgeKind::stream) return edge.tensor;
  }
  return -1;
}

/// Adds the preferences, group by group, where they close no cycle.
void add_preferences(const RegionIndices& indices, OrderGraph& graph) {
  const auto& edges = indices.edges;
  for (size_t first = 0; first < edges.size();) {
    size_t last = first + 1;
    if (edges[first].kind != EdgeKind::preference) {
      first = last;
      continue;
    }
    while (last < edges.size() && edges[last].kind == EdgeKind::preference &&
           edges[last].group == edges[first].group) {
      ++last;
    }
    size_t added = first;
    while (added < last && !graph.reaches(edges[added].after, edges[added].before)) {
      graph.add(static_cast<int>(added++));
    }
    if (added < last) {
      while (added > first) graph.remove_last(static_cast<int>(--added));
    }
    first = last;
  }
}

OrderGraph required_graph(const RegionIndices& indices) {
  OrderGraph graph(indices);
  for (size_t e = 0; e < indices.edges.size(); ++e) {
    if (indices.edges[e].kind != EdgeKind::preference) graph.add(static_cast<int>(e));
  }
  return graph;
}

std::vector<int> sort_with_preferences(const RegionIndices& indices) {
  OrderGraph graph = required_graph(indices);
  add_preferences(indices, graph);
  return graph.sort();
}

}  // namespace

std::vector<OrderEdge> edges_kept(const RegionIndices& indices, bool preferences) {
  OrderGraph graph = required_graph(indices);
  if (preferences) add_preferences(indices, graph);
  return graph.edges();
}

std::vector<int> nearest_order(const RegionIndices& indices) {
  std::vector<int> order = sort_with_preferences(indices);
  for (int index = 0; index < static_cast<int>(indices.indices.size()); ++index) {
    if (std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  }
  return order;
}

std::string describe(const RegionIndices& indices, const std::vector<OrderEdge>& cycle) {
  return cycle_text(indices, cycle);
}

std::vector<OrderEdge> find_cycle(const RegionIndices& indices) {
  const OrderGraph graph = required_graph(indices);
  std::vector<OrderEdge> best;
  if (!graph.has_cycle()) return best;
  for (const OrderEdge& edge : indices.edges) {
    if (edge.kind == EdgeKind::preference) continue;
    const std::vector<int> path = graph.path(edge.after, edge.before);
    if (path.empty() || (!best.empty() && path.size() + 1 >= best.size())) continue;
    best = {edge};
    for (const int e : path) best.push_back(indices.edges[e]);
  }
  return best;
}

std::vector<int> default_order(const RegionIndices& indices) {
  const std::vector<OrderEdge> cycle = find_cycle(indices);
  if (!cycle.empty()) {
    throw LoweringConflict(
        culprit(cycle), "no order of the region's indices is legal: " + cycle_text(indices, cycle) +
                            "; store an intermediate, or a permuted copy");
  }
  return sort_with_preferences(indices);
}

std::vector<int> chosen_order(const RegionIndices& indices, const Schedule& schedule) {
  if (schedule.order.empty()) return default_order(indices);
  const std::vector<OrderEdge> cycle = find_cycle(indices);
  if (cycle.empty()) return sort_with_preferences(indices);
  RegionIndices free = indices;
  std::erase_if(free.edges, [](const OrderEdge& edge) { return edge.kind == EdgeKind::user; });
  std::string message = fmt::format("order {} is not legal: {}", fmt::join(schedule.order, ", "),
                                    cycle_text(indices, cycle));
  if (find_cycle(free).empty()) {
    message += fmt::format("; a legal order is {}",
                           fmt::join(indices.names(sort_with_preferences(free)), ", "));
  }
  throw LoweringConflict(culprit(cycle), message);
}

std::optional<std::string> why_illegal(const RegionIndices& indices,
                                       const std::vector<int>& order) {
  std::vector<int> rank(indices.indices.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int>(i);
  for (const OrderEdge& edge : indices.edges) {
    if (edge.kind != EdgeKind::preference && rank[edge.before] > rank[edge.after]) {
      return edge_text(indices, edge);
    }
  }
  return std::nullopt;
}

}  // namespace fuseflow
