#include "verdict/waits.h"

#include <algorithm>
#include <map>
#include <set>

#include "nodes/rule.h"

namespace fuseflow {

Waits::Waits(const Graph& graph, const RegionFigures& figures)
    : graph_(graph),
      figures_(figures),
      producers_(graph.nodes.size()),
      consumers_(graph.nodes.size()) {
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
      if (writes_tensor(node.kind)) {
        writers[tensor].push_back(n);
      } else if (const auto known = writers.find(tensor); known != writers.end()) {
        for (const size_t writer : known->second) connect(writer, n);
      }
    });
  }
}

std::optional<size_t> Waits::most_working(const Neighbours& next, size_t from) const {
  std::optional<size_t> best;
  std::set<size_t> seen{from};
  std::vector<size_t> open{from};
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    for (const size_t other : next[node]) {
      if (!seen.insert(other).second) continue;
      open.push_back(other);
      if (!figures(other).known) continue;
      const double most = best ? works(figures(*best)) : -1;
      const double work = works(figures(other));
      if (work > most || (work == most && other < *best)) best = other;
    }
  }
  return best;
}

std::optional<Holder> Waits::fullest() const {
  const StreamId stream = holding_stream(graph_, figures_, 0, graph_.phases());
  if (stream < 0) return std::nullopt;
  return Holder{static_cast<size_t>(graph_.streams[static_cast<size_t>(stream)].producer), false,
                stream};
}

std::optional<Holder> Waits::of(size_t node) const {
  const size_t nodes = std::min(figures_.nodes.size(), producers_.size());
  if (node >= nodes || !figures(node).known || mostly_works(figures(node))) return std::nullopt;
  size_t at = node;
  std::set<size_t> seen{node};
  while (!mostly_works(figures(at))) {
    const NodeFigures& here = figures(at);
    const std::optional<size_t> next =
        most_working(here.blocked > here.starved ? consumers_ : producers_, at);
    const bool less = next && works(figures(*next)) < works(here);
    if (!next || less || !seen.insert(*next).second) break;
    at = *next;
  }
  if (!mostly_works(figures(at))) {
    const std::optional<Holder> full = fullest();
    const double blocked = full ? figures_.stream_blocked[static_cast<size_t>(full->stream)] : 0;
    if (blocked > works(figures(at))) return full;
  }
  if (at == node) return std::nullopt;
  return Holder{at, figures(at).memory > figures(at).busy};
}

StreamId holding_stream(const Graph& graph, const RegionFigures& figures, int first, int last) {
  constexpr double kNearly = 0.5;
  const auto producer = [&](size_t s) { return static_cast<size_t>(graph.streams[s].producer); };
  const auto here = [&](size_t s) {
    const int phase = graph.nodes[producer(s)].phase;
    return phase >= first && phase <= last;
  };
  double most = 0;
  for (size_t s = 0; s < figures.stream_blocked.size(); ++s) {
    if (here(s)) most = std::max(most, figures.stream_blocked[s]);
  }
  StreamId found = -1;
  const auto busy = [&](size_t s) { return figures.nodes[producer(s)].busy; };
  for (size_t s = 0; s < figures.stream_blocked.size() && most > 0; ++s) {
    if (!here(s) || figures.stream_blocked[s] < kNearly * most) continue;
    if (found < 0 || busy(s) > busy(static_cast<size_t>(found))) found = static_cast<StreamId>(s);
  }
  return found;
}

namespace {

StreamId most_blocking_output(const Graph& graph, const RegionFigures& figures, NodeId node) {
  const auto blocked = [&](StreamId s) { return figures.stream_blocked[static_cast<size_t>(s)]; };
  StreamId most = -1;
  for (const StreamId stream : graph.nodes[static_cast<size_t>(node)].outputs) {
    if (stream < 0 || blocked(stream) <= 0) continue;
    if (most < 0 || blocked(stream) > blocked(most)) most = stream;
  }
  return most;
}

}  // namespace

StreamId stream_before(const Graph& graph, const RegionFigures& figures, NodeId node) {
  if (figures.stream_blocked.empty()) return -1;
  std::vector<NodeId> open{node};  // the nearest first
  std::set<NodeId> seen{node};
  for (size_t k = 0; k < open.size(); ++k) {
    const NodeFigures& here = figures.nodes[static_cast<size_t>(open[k])];
    if (k > 0 && here.blocked > here.busy + here.memory + here.starved) {
      return most_blocking_output(graph, figures, open[k]);
    }
    for (const Input& input : graph.nodes[static_cast<size_t>(open[k])].inputs) {
      if (input.is_immediate()) continue;
      const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
      if (seen.insert(from).second) open.push_back(from);
    }
  }
  return -1;
}

}  // namespace fuseflow
