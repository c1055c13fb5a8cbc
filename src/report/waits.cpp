#include "report/waits.h"

#include <set>

#include "nodes/rule.h"

namespace fuseflow {
namespace {

bool writes(const Node& node) {
  return writes_tensor(node.kind);
}

}  // namespace

Waits::Waits(const Graph& graph, const RowsByNode& rows)
    : rows_(rows), producers_(graph.nodes.size()), consumers_(graph.nodes.size()) {
  const auto connect = [&](size_t from, size_t to) {
    producers_[to].push_back(from);
    consumers_[from].push_back(to);
  };
  std::map<TensorId, std::vector<size_t>> writers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      connect(static_cast<size_t>(graph.streams[static_cast<size_t>(input.stream)].producer), n);
    }
    for_tensors(node, [&](TensorId tensor) {
      if (writes(node)) {
        writers[tensor].push_back(n);
      } else if (const auto known = writers.find(tensor); known != writers.end()) {
        for (const size_t writer : known->second) connect(writer, n);
      }
    });
  }
}

bool Waits::works(size_t node) const {
  return mostly_works(*rows_.at(node));
}

std::optional<size_t> Waits::busiest_reached(const Neighbours& next, size_t from) const {
  std::optional<size_t> best;
  std::set<size_t> seen{from};
  std::vector<size_t> open{from};
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    for (const size_t other : next[node]) {
      if (!seen.insert(other).second) continue;
      open.push_back(other);
      const auto row = rows_.find(other);
      if (row == rows_.end()) continue;
      const double most = best ? rows_.at(*best)->busy : -1;
      if (row->second->busy > most || (row->second->busy == most && other < *best)) best = other;
    }
  }
  return best;
}

std::optional<size_t> Waits::of(size_t node) const {
  if (!rows_.contains(node) || node >= producers_.size() || works(node)) return std::nullopt;
  size_t at = node;
  std::set<size_t> seen{node};
  while (!works(at)) {
    const NodeRow& row = *rows_.at(at);
    const std::optional<size_t> next =
        busiest_reached(row.blocked > row.starved ? consumers_ : producers_, at);
    const bool less = next && rows_.at(*next)->busy < row.busy;
    if (!next || less || !seen.insert(*next).second) break;
    at = *next;
  }
  return at == node ? std::nullopt : std::optional(at);
}

}  // namespace fuseflow
