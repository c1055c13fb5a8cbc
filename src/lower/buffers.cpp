// Where reconverging paths need buffers, and how large.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "lower/finish.h"

namespace fuseflow {

namespace {

/// For every stream: `late`, the least number of loops such that its first token in an iteration of
/// those loops comes only after a reduction has consumed the whole iteration (its depth if it waits
/// for none), and which nodes it comes from.
class BufferPass {
 public:
  explicit BufferPass(const Graph& graph)
      : graph_(graph),
        words_((graph.nodes.size() + 63) / 64),
        late_(graph.streams.size(), 0),
        from_(graph.nodes.size()) {}

  /// Capacity of the buffer that each input of each node needs; 0: none.
  std::map<std::pair<NodeId, size_t>, int64_t> run() {
    std::map<std::pair<NodeId, size_t>, int64_t> result;
    for (NodeId n = 0; n < static_cast<NodeId>(graph_.nodes.size()); ++n) {
      visit(n);
      check(n, result);
    }
    return result;
  }

 private:
  int depth(StreamId s) const { return static_cast<int>(graph_.streams[s].indices.size()); }

  void visit(NodeId n) {
    const Node& node = graph_.nodes[n];
    from_[n].assign(words_, 0);
    from_[n][static_cast<size_t>(n) / 64] |= uint64_t{1} << (n % 64);
    int late = std::numeric_limits<int>::max();
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const NodeId producer = graph_.streams[input.stream].producer;
      for (size_t w = 0; w < words_; ++w) from_[n][w] |= from_[producer][w];
      if (late_[input.stream] < depth(input.stream)) late = std::min(late, late_[input.stream]);
    }
    const bool ends = node.kind == NodeKind::reduce || node.kind == NodeKind::accumulate;
    if (ends) late = std::min(late, depth(node.inputs[0].stream));
    for (const StreamId s : node.outputs) late_[s] = std::min(late, depth(s));
  }

  /// True if both come from a node whose streams run in more than `loops` loops.
  bool share_source(NodeId a, NodeId b, int loops) const {
    for (size_t w = 0; w < words_; ++w) {
      uint64_t common = from_[a][w] & from_[b][w];
      for (; common != 0; common &= common - 1) {
        const size_t n = w * 64 + static_cast<size_t>(__builtin_ctzll(common));
        const Node& node = graph_.nodes[n];
        if (!node.outputs.empty() && depth(node.outputs[0]) > loops) return true;
      }
    }
    return false;
  }

  void check(NodeId n, std::map<std::pair<NodeId, size_t>, int64_t>& result) const {
    const Node& node = graph_.nodes[n];
    for (size_t waiting = 0; waiting < node.inputs.size(); ++waiting) {
      if (node.inputs[waiting].is_immediate()) continue;
      const StreamId stream = node.inputs[waiting].stream;
      int loops = depth(stream);
      for (size_t other = 0; other < node.inputs.size(); ++other) {
        if (other == waiting || node.inputs[other].is_immediate()) continue;
        const StreamId late = node.inputs[other].stream;
        if (late_[late] >= late_[stream] || late_[late] >= loops) continue;
        if (share_source(graph_.streams[stream].producer, graph_.streams[late].producer,
                         late_[late])) {
          loops = late_[late];
        }
      }
      if (loops < depth(stream)) result[{n, waiting}] = tokens_below(stream, loops);
    }
  }

  /// Tokens of one iteration of the outer `loops` loops: elements and stops, by the extents.
  int64_t tokens_below(StreamId stream, int loops) const {
    const auto& indices = graph_.streams[stream].indices;
    const int64_t limit = std::numeric_limits<int64_t>::max() / 4;
    int64_t elements = 1;
    int64_t tokens = 2;
    for (size_t i = static_cast<size_t>(loops); i < indices.size(); ++i) {
      const int64_t extent = std::max<int64_t>(graph_.indices[indices[i]].extent, 1);
      tokens = std::min(limit, tokens + elements);
      elements = elements > limit / extent ? limit : elements * extent;
    }
    return std::min(limit, tokens + elements);
  }

  const Graph& graph_;
  const size_t words_;
  std::vector<int> late_;
  std::vector<std::vector<uint64_t>> from_;
};

}  // namespace

void insert_buffers(Graph& graph, std::vector<size_t>& tags) {
  const auto needs = BufferPass(graph).run();
  if (needs.empty()) return;
  Graph result;
  result.indices = graph.indices;
  result.scratchpad = graph.scratchpad;
  result.streams = graph.streams;
  std::vector<size_t> new_tags;
  std::map<std::pair<StreamId, int64_t>, StreamId> buffered;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    Node node = std::move(graph.nodes[n]);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto need = needs.find({n, i});
      if (need == needs.end()) continue;
      const StreamId from = node.inputs[i].stream;
      const auto [place, is_new] = buffered.emplace(std::pair(from, need->second),
                                                    static_cast<StreamId>(result.streams.size()));
      if (is_new) {
        Stream stream = result.streams[from];
        stream.producer = static_cast<NodeId>(result.nodes.size());
        stream.port = 0;
        result.streams.push_back(stream);
        Node buffer;
        buffer.kind = NodeKind::buffer;
        buffer.inputs = {{from, 0}};
        buffer.outputs = {place->second};
        buffer.capacity = need->second;
        buffer.phase = node.phase;
        result.nodes.push_back(std::move(buffer));
        new_tags.push_back(tags[n]);
      }
      node.inputs[i].stream = place->second;
    }
    for (const StreamId s : node.outputs) {
      result.streams[s].producer = static_cast<NodeId>(result.nodes.size());
    }
    result.nodes.push_back(std::move(node));
    new_tags.push_back(tags[n]);
  }
  graph = std::move(result);
  tags = std::move(new_tags);
}

}  // namespace fuseflow
