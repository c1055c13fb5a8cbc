#include "nodes/writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "nodes/parts.h"
#include "nodes/rule.h"
#include "nodes/spaces.h"

namespace fuseflow {

namespace {

class Writes {
 public:
  Writes(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
         const GraphError& error)
      : g_(graph), tensors_(tensors), spaces_(spaces), error_(error) {}

  void check() {
    std::map<TensorId, Writers> writers;
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& node = g_.nodes[n];
      if (!writes_tensor(node.kind)) continue;
      const bool values = node.kind == NodeKind::write_values;
      const int level = values ? tensors_[node.tensor].format.rank() : node.level;
      std::vector<NodeId>& same = writers[node.tensor][level];
      same.push_back(n);
      if (!values && same.size() > 1) fail(n, "is written twice, expected once");
    }
    for (const auto& [tensor, levels] : writers) {
      check_written(tensor, levels);
      for (const auto& [level, nodes] : levels) {
        for (const NodeId node : nodes) check_coordinates(tensor, level, node);
        if (g_.nodes[nodes[0]].kind == NodeKind::write_values) check_parts(nodes);
      }
    }
    check_read_after_write(writers);
  }

 private:
  /// By level (rank: the values). Copies of a split loop may each store a part of the values.
  using Writers = std::map<int, std::vector<NodeId>>;

  void fail(NodeId n, const std::string& message) {
    sound_ = false;
    error_(n, message);
  }

  void check_parts(const std::vector<NodeId>& nodes) {
    if (!sound_) return;
    if (!are_parts(g_, tensors_, spaces_, nodes, error_)) return;
    if (nodes.size() == 1) return;
    for (const NodeId n : nodes) {
      if (g_.nodes[n].phase == g_.nodes[nodes[0]].phase) continue;
      return fail(n, "is written in another phase than the rest of the tensor");
    }
  }

  /// The space of what a writer stores: its last input's.
  int written_space(NodeId n) const { return spaces_.of_stream[g_.nodes[n].inputs.back().stream]; }

  void check_written(TensorId tensor, const Writers& levels) {
    const GraphTensor& t = tensors_[tensor];
    const int rank = t.format.rank();
    const NodeId some = levels.begin()->second[0];
    if (levels.count(rank) == 0) {
      return fail(some,
                  fmt::format("the values of %{} are not written, expected write_values", t.name));
    }
    int space = written_space(levels.at(rank)[0]);
    for (int l = rank - 1; l >= 0; --l) {
      if (t.format.levels[l] == LevelKind::dense) continue;
      const auto writer = levels.find(l);
      if (writer == levels.end()) {
        fail(some, fmt::format("level {} of %{} is not written, expected `write_level %{}.{} (..)`",
                               l, t.name, t.name, l));
        continue;
      }
      const NodeId node = writer->second[0];
      const int above = written_space(node);
      const int elements = spaces_.same_elements(above);
      while (space >= 0 && spaces_.same_elements(space) != elements) {
        space = spaces_.spaces[space].parent;
      }
      if (space >= 0) space = above;  // the same elements, in the fibers that the levels have
      if (g_.nodes[node].phase != g_.nodes[some].phase) {
        return fail(node, "is written in another phase than the rest of the tensor");
      }
      if (space < 0) {
        return fail(node, "the coordinates are in no space of the values or levels below");
      }
    }
  }

  /// The coordinates that a writer takes are inside of the tensor, and as deep as their level.
  void check_coordinates(TensorId tensor, int level, NodeId n) {
    const GraphTensor& t = tensors_[tensor];
    const Node& node = g_.nodes[n];
    const bool values = node.kind == NodeKind::write_values;
    const auto given = static_cast<int>(node.inputs.size()) - (values ? 1 : 0);
    const int first = level - given + (values ? 0 : 1);  // the level of the first coordinates
    if (!values && spaces_.spaces[written_space(n)].depth != level + 1) {
      fail(n, fmt::format("takes coordinates from {} loop(s) deep, expected {} for level {}",
                          spaces_.spaces[written_space(n)].depth, level + 1, level));
    }
    for (int i = 0; i < given; ++i) {
      const int loop = loop_of_coordinates(g_, spaces_, node.inputs[i].stream);
      const int64_t extent = t.level_extent(first + i);
      if (loop < 0 || extent < 0 || g_.indices[loop].extent <= extent) continue;
      const GraphIndex& index = g_.indices[loop];
      fail(n, fmt::format("takes coordinates of index {}, which has extent {}, for level {} of "
                          "%{}, which has extent {}; expected an index of at most that",
                          index.name, index.extent, first + i, t.name, extent));
    }
  }

  void check_read_after_write(const std::map<TensorId, Writers>& writers) {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& node = g_.nodes[n];
      if (!reads_tensor(node.kind)) continue;
      for_tensors(node, [&](TensorId tensor) { check_read(n, tensor, writers); });
      if (node.other_tensor >= 0) check_one_place(n);
    }
  }

  void check_read(NodeId n, TensorId tensor, const std::map<TensorId, Writers>& writers) {
    const Node& node = g_.nodes[n];
    const auto written = writers.find(tensor);
    if (written == writers.end()) return;
    const int phase = g_.nodes[written->second.begin()->second[0]].phase;
    if (phase >= node.phase) {
      fail(n, fmt::format("reads %{} in the phase that writes it, expected a later phase",
                          tensors_[tensor].name));
    }
    if (g_.last_started_with(phase) < node.phase) return;
    if (node.other_tensor >= 0) {
      fail(n, fmt::format("reads %{} in a phase that starts with the one that writes it, expected "
                          "`phase {{` instead of `phase rows {{`",
                          tensors_[tensor].name));
    } else if (!g_.on_chip(tensor)) {
      fail(n, fmt::format("reads %{} in a phase that starts with the one that writes it, expected "
                          "it in the scratchpad, or `phase {{` instead of `phase rows {{`",
                          tensors_[tensor].name));
    }
  }

  /// A node that reads two tensors has one latency and one way to where they are.
  void check_one_place(NodeId n) {
    const Node& node = g_.nodes[n];
    if (g_.on_chip(node.tensor) == g_.on_chip(node.other_tensor)) return;
    const bool first = g_.on_chip(node.tensor);
    fail(n, fmt::format("reads %{} in the scratchpad and %{} in memory, expected both in one place",
                        tensors_[first ? node.tensor : node.other_tensor].name,
                        tensors_[first ? node.other_tensor : node.tensor].name));
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const Spaces& spaces_;
  const GraphError& error_;
  bool sound_ = true;
};

}  // namespace

void check_writes(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
                  const GraphError& error) {
  Writes(graph, tensors, spaces, error).check();
}

}  // namespace fuseflow
