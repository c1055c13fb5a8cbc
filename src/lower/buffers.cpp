// Puts buffers into a graph where its plan has them (buffer_plan.h).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lower/buffer_plan.h"
#include "lower/finish.h"
#include "lower/late_starts.h"

namespace fuseflow {

int64_t tokens_below(const Graph& graph, StreamId stream, int loops) {
  const auto& indices = graph.streams[stream].indices;
  const int64_t limit = std::numeric_limits<int64_t>::max() / 4;
  int64_t elements = 1;
  int64_t tokens = 2;
  for (size_t i = static_cast<size_t>(loops); i < indices.size(); ++i) {
    const int64_t extent = std::max<int64_t>(graph.indices[indices[i]].extent, 1);
    tokens = std::min(limit, tokens + elements);
    elements = elements > limit / extent ? limit : elements * extent;
  }
  return std::min(limit, tokens + elements);
}

namespace {

/// Takes a graph over node by node, with the buffers of its plan in front of the first consumer of
/// each.
class WithBuffers {
 public:
  WithBuffers(Graph& graph, const BufferPlan& plan, const std::vector<size_t>& tags)
      : graph_(graph), plan_(plan), tags_(tags), held_(planned_buffers(graph, plan)) {
    result_.indices = graph.indices;
    result_.scratchpad = graph.scratchpad;
    result_.row_phases = graph.row_phases;
    result_.streams = graph.streams;
  }

  void run(std::vector<size_t>& tags) {
    result_.nodes.reserve(graph_.nodes.size() + held_.size() + plan_.ahead.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].is_immediate()) node.inputs[i].stream = taken_from(n, i);
      }
      add(std::move(node), tags_[n]);
    }
    graph_ = std::move(result_);
    tags = std::move(new_tags_);
  }

 private:
  void add(Node&& node, size_t tag) {
    for (const StreamId s : node.outputs) {
      result_.streams[s].producer = static_cast<NodeId>(result_.nodes.size());
    }
    result_.nodes.push_back(std::move(node));
    new_tags_.push_back(tag);
  }

  StreamId taken_from(size_t consumer, size_t input) {
    const StreamId stream = graph_.nodes[consumer].inputs[input].stream;
    const auto need = plan_.needs.find({static_cast<NodeId>(consumer), input});
    if (need != plan_.needs.end()) {
      const BufferPlace place{stream, need->second.loops};
      const int64_t tokens = tokens_of(graph_, place, held_.at(place));
      return buffered(place, {tokens, least_tokens_of(graph_, place)}, consumer);
    }
    const auto ahead = plan_.ahead.find(stream);
    if (ahead == plan_.ahead.end()) return stream;
    return buffered({stream, kAhead}, {ahead->second, kLeastAhead}, consumer);
  }

  struct Tokens {
    int64_t capacity = 0;
    int64_t least = 0;
  };
  static constexpr int kAhead = -1;  ///< loops of the place of what is worked ahead

  /// The buffered stream of a place; `consumer` asks for it.
  StreamId buffered(const BufferPlace& place, const Tokens& tokens, size_t consumer) {
    const auto next = static_cast<StreamId>(result_.streams.size());
    const auto [made, is_new] = buffered_.emplace(place, next);
    if (!is_new) return made->second;
    Stream stream = result_.streams[place.first];
    stream.port = 0;
    result_.streams.push_back(std::move(stream));
    Node buffer;
    buffer.kind = NodeKind::buffer;
    buffer.inputs = {{place.first, 0}};
    buffer.outputs = {next};
    buffer.capacity = tokens.capacity;
    if (tokens.least < tokens.capacity) buffer.least = tokens.least;
    buffer.phase = graph_.nodes[consumer].phase;
    add(std::move(buffer), tags_[consumer]);
    return next;
  }

  Graph& graph_;  ///< its nodes go; their streams stay for questions
  const BufferPlan& plan_;
  const std::vector<size_t>& tags_;
  const std::map<BufferPlace, int64_t> held_;
  Graph result_;
  std::vector<size_t> new_tags_;
  std::map<BufferPlace, StreamId> buffered_;
};

}  // namespace

void insert_buffers(Graph& graph, std::vector<size_t>& tags, const BufferPlan& plan) {
  WithBuffers(graph, plan, tags).run(tags);
}

void insert_buffers(Graph& graph, std::vector<size_t>& tags) {
  const BufferPlans plans = plan_buffers(graph);
  const BufferPlan& plan = plans.late_takes_no_more ? plans.late : plans.early;
  if (!plan.needs.empty()) insert_buffers(graph, tags, plan);
}

}  // namespace fuseflow
