#include "graph/collapse.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "graph/graph_key.h"

namespace fuseflow {
namespace {

/// What copies have in common: what a node does, and the groups that it takes from. Which output of
/// a split it takes does not count: that is what makes copies. Nor does how many copies a node puts
/// in order, or which comes first.
class Signature {
 public:
  Signature(const Graph& graph, const std::vector<size_t>& group_of, const Node& node)
      : graph_(graph), group_of_(group_of), serializes_(node.kind == NodeKind::serialize) {
    write_node(node, Differ::in_work, *this);
    for (const auto& [group, port] : serialized_) numbers_.insert(numbers_.end(), {group, port});
  }

  void number(int64_t value) { numbers_.push_back(value); }
  void real(float value) { number(std::bit_cast<int32_t>(value)); }
  void tensor(TensorId tensor) { number(tensor); }
  void stream(StreamId id) {
    if (id < 0) return number(id);
    const Stream& stream = graph_.streams[static_cast<size_t>(id)];
    const auto producer = static_cast<size_t>(stream.producer);
    const bool split = graph_.nodes[producer].kind == NodeKind::parallelize;
    const auto group = static_cast<int64_t>(group_of_[producer]);
    const int64_t port = split ? 0 : stream.port;
    if (serializes_) {
      serialized_.emplace(group, port);
    } else {
      numbers_.insert(numbers_.end(), {group, port});
    }
  }

  std::vector<int64_t> take() { return std::move(numbers_); }

 private:
  const Graph& graph_;
  const std::vector<size_t>& group_of_;
  const bool serializes_;
  std::vector<int64_t> numbers_;
  std::set<std::pair<int64_t, int64_t>> serialized_;
};

}  // namespace

std::vector<NodeGroup> collapse_copies(const Graph& graph) {
  std::vector<NodeGroup> groups;
  std::map<std::vector<int64_t>, size_t> known;
  std::vector<size_t> group_of(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Signature signature(graph, group_of, node);
    const auto [place, added] = known.emplace(signature.take(), groups.size());
    if (added) groups.emplace_back();
    group_of[n] = place->second;
    NodeGroup& group = groups[place->second];
    group.nodes.push_back(n);
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const NodeId producer = graph.streams[static_cast<size_t>(input.stream)].producer;
      const size_t from = group_of[static_cast<size_t>(producer)];
      if (std::find(group.inputs.begin(), group.inputs.end(), from) == group.inputs.end()) {
        group.inputs.push_back(from);
      }
    }
  }
  return groups;
}

}  // namespace fuseflow
