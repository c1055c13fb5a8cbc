#include "sim/timing/holding.h"

#include <set>

#include "support/strong_components.h"

namespace fuseflow::engine {

int64_t depth_of(const Graph& graph, const Machine& machine, StreamId stream) {
  const Node& node =
      graph.nodes[static_cast<size_t>(graph.streams[static_cast<size_t>(stream)].producer)];
  return node.kind == NodeKind::buffer ? node.capacity : machine.fifo_depth;
}

namespace {

/// Which node waits for which. The last vertex is memory.
class Holding {
 public:
  Holding(const Graph& graph, const Machine& machine,
          const std::vector<std::unique_ptr<EngineNode>>& nodes)
      : graph_(graph), machine_(machine), next_(nodes.size() + 1) {
    std::vector<size_t> place(graph.nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) place[static_cast<size_t>(nodes[i]->id())] = i;
    for (size_t i = 0; i < nodes.size(); ++i) add_streams(place, *nodes[i], i);
    if (machine.dram.model != "none") add_memory(nodes);
  }
  const std::vector<std::vector<size_t>>& next() const { return next_; }

 private:
  void add_streams(const std::vector<size_t>& place, const EngineNode& node, size_t taker) {
    for (const Input& input : node.node().inputs) {
      if (input.is_immediate()) continue;
      const Stream& stream = graph_.streams[static_cast<size_t>(input.stream)];
      const size_t giver = place[static_cast<size_t>(stream.producer)];
      next_[giver].push_back(taker);
      if (depth_of(graph_, machine_, input.stream) > 0) next_[taker].push_back(giver);
    }
  }
  /// Nodes that request bursts; and rows that one phase writes for another, for which all phases
  /// are worked out together where they share a memory.
  void add_memory(const std::vector<std::unique_ptr<EngineNode>>& nodes) {
    std::set<NodeId> writers;
    for (const auto& node : nodes) {
      for (const RowGate& gate : node->row_gates) writers.insert(gate.writer());
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool rows = nodes[i]->row_gates.any() || writers.count(nodes[i]->id()) > 0;
      if (nodes[i]->bursts.empty() && !rows) continue;
      next_[i].push_back(next_.size() - 1);
      next_.back().push_back(i);
    }
  }

  const Graph& graph_;
  const Machine& machine_;
  std::vector<std::vector<size_t>> next_;
};

}  // namespace

std::vector<int> find_components(const Graph& graph, const Machine& machine,
                                 const std::vector<std::unique_ptr<EngineNode>>& nodes) {
  const Holding holding(graph, machine, nodes);
  const StrongComponents found = strong_components(holding.next());
  std::vector<int> members(found.count);
  for (const size_t part : found.part) ++members[part];
  std::vector<int> number(found.count, kAlone);
  int count = kMemory;
  for (size_t i = 0; i < nodes.size(); ++i) {
    int& mine = number[found.part[i]];
    const bool held = members[found.part[i]] > 1 || nodes[i]->two_stores();
    if (found.part[i] == found.part.back()) {
      mine = kMemory;
    } else if (held && mine == kAlone) {
      mine = ++count;
    }
  }
  std::vector<int> component;
  for (size_t i = 0; i < nodes.size(); ++i) component.push_back(number[found.part[i]]);
  return component;
}

}  // namespace fuseflow::engine
