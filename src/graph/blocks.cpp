#include "graph/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fuseflow {

namespace {

constexpr int64_t kMaxVolume = int64_t{1} << 24;

bool contains(const std::vector<int>& list, int x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

}  // namespace

int64_t block_volume(const Graph& graph, const std::vector<int>& block) {
  int64_t volume = 1;
  for (const int index : block) {
    volume = std::min(2 * kMaxVolume, volume * graph.indices[index].block);
  }
  return volume;
}

BlockRules::BlockRules(const Graph& graph, std::span<const GraphTensor> tensors)
    : g_(graph), tensors_(tensors), loops_(graph.streams.size()) {}

/// The tensor's blocked dimensions, in their order; each extends over the loop that led there.
std::vector<int> BlockRules::of_array(const Node& node) const {
  const Format& format = tensors_[node.tensor].format;
  std::vector<int> result;
  if (format.block.empty()) return result;
  const std::vector<int>& loops = loops_[node.inputs[0].stream];
  for (int d = 0; d < format.rank(); ++d) {
    if (format.block[d] == 1) continue;
    const auto level = std::find(format.mode_order.begin(), format.mode_order.end(), d) -
                       format.mode_order.begin();
    result.push_back(static_cast<size_t>(level) < loops.size() ? loops[level] : -1);
  }
  return result;
}

/// All that operands extend over, in the order of the graph's loops, but what is contracted.
std::vector<int> BlockRules::of_map(const Node& node) const {
  std::vector<int> result;
  for (const Input& input : node.inputs) {
    if (input.is_immediate()) continue;
    for (const int index : g_.streams[input.stream].block) {
      if (!contains(result, index) && !contains(node.contract, index)) result.push_back(index);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The input whose payloads an output carries on; -1 if it makes new ones.
int BlockRules::source(const Node& node, size_t port) const {
  switch (node.kind) {
    case NodeKind::repeat:
    case NodeKind::buffer:
    case NodeKind::parallelize:
    case NodeKind::serialize:
      return 0;
    case NodeKind::align:
      return 2;
    case NodeKind::filter:
      return static_cast<int>(port) + 1;
    case NodeKind::drop:
      return static_cast<int>(port);
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin: {
      int at = 0;
      size_t next = 1;
      for (const int group : node.groups) {
        for (int k = 1; k < group; ++k, ++next) {
          if (next == port) return at + k;
        }
        at += group;
      }
      return -1;
    }
    default:
      return -1;
  }
}

/// The loops whose coordinates a reference has been reached by, or that a coordinate is of.
std::vector<int> BlockRules::coordinates(const Node& node, size_t port) const {
  const Stream& stream = g_.streams[node.outputs[port]];
  const int from = source(node, port);
  if (from >= 0) return loops_[node.inputs[static_cast<size_t>(from)].stream];
  const int innermost = stream.indices.empty() ? -1 : stream.indices.back();
  if (stream.kind == StreamKind::crd) return {innermost};
  if (node.kind != NodeKind::scan && node.kind != NodeKind::locate) return {};
  std::vector<int> loops = loops_[node.inputs[0].stream];
  const bool counted = node.kind == NodeKind::scan || node.inputs.size() < 2;
  int by = innermost;
  if (!counted) by = loops_[node.inputs[1].stream].empty() ? -1 : loops_[node.inputs[1].stream][0];
  loops.push_back(by);
  return loops;
}

std::vector<int> BlockRules::output(NodeId id, size_t port) {
  const Node& node = g_.nodes[id];
  const Stream& stream = g_.streams[node.outputs[port]];
  if (loops_.size() < g_.streams.size()) loops_.resize(g_.streams.size());
  std::vector<int>& loops = loops_[node.outputs[port]];
  if (stream.kind != StreamKind::val) {
    loops = coordinates(node, port);
    return {};
  }
  switch (node.kind) {
    case NodeKind::array:
      return of_array(node);
    case NodeKind::map:
      return of_map(node);
    case NodeKind::coordinate: {
      const std::vector<int>& indices = stream.indices;
      if (indices.empty() || g_.indices[indices.back()].size < 0) return {};
      return {indices.back()};
    }
    case NodeKind::reduce:
    case NodeKind::accumulate: {
      const Stream& value = g_.streams[node.inputs.back().stream];
      std::vector<int> result = value.block;
      const size_t inner = node.kind == NodeKind::reduce ? 0 : static_cast<size_t>(node.order);
      if (inner >= value.indices.size()) return result;
      const int ended = value.indices[value.indices.size() - 1 - inner];
      result.erase(std::remove(result.begin(), result.end(), ended), result.end());
      std::sort(result.begin(), result.end());
      return result;
    }
    case NodeKind::pad:
      return stream.block;
    default: {
      const int from = source(node, port);
      if (from < 0 || node.inputs[static_cast<size_t>(from)].is_immediate()) return {};
      return g_.streams[node.inputs[static_cast<size_t>(from)].stream].block;
    }
  }
}

namespace {

class Checker {
 public:
  Checker(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error)
      : g_(graph), tensors_(tensors), error_(error), rules_(graph, tensors) {}

  void run() {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      for (size_t port = 0; port < g_.nodes[n].outputs.size(); ++port) check_output(n, port);
      if (g_.nodes[n].kind == NodeKind::map) check_map(n);
      if (g_.nodes[n].kind == NodeKind::pad) check_pad(n);
      if (g_.nodes[n].kind == NodeKind::write_values) {
        check_extents(n, g_.nodes[n].inputs.back().stream);
      }
      if (g_.nodes[n].kind == NodeKind::array) check_extents(n, g_.nodes[n].outputs[0]);
      const bool reduces =
          g_.nodes[n].kind == NodeKind::reduce || g_.nodes[n].kind == NodeKind::accumulate;
      if (reduces && g_.nodes[n].reduction == Reduction::mean &&
          !g_.streams[g_.nodes[n].inputs.back().stream].block.empty()) {
        fail(n, "takes the mean of blocks, expected a sum and a division by the count");
      }
    }
  }

 private:
  void fail(NodeId n, const std::string& message) {
    error_(n, fmt::format("{}: {}", node_text(g_, tensors_, n), message));
  }
  std::string list(const std::vector<int>& indices) const {
    std::vector<std::string> names;
    names.reserve(indices.size());
    for (const int i : indices) names.push_back(i < 0 ? "?" : g_.indices[i].name);
    return fmt::format("[{}]", fmt::join(names, ","));
  }

  void check_output(NodeId n, size_t port) {
    const Stream& stream = g_.streams[g_.nodes[n].outputs[port]];
    const std::vector<int> expected = rules_.output(n, port);
    if (expected != stream.block) {
      fail(n, fmt::format("${} is declared with blocks {}, expected {}", stream.name,
                          list(stream.block), list(expected)));
      return;
    }
    for (size_t i = 0; i < stream.block.size(); ++i) {
      if (stream.block[i] < 0) return fail(n, "a block over an unknown loop");
      if (g_.indices[stream.block[i]].size < 0) fail(n, "a block over a loop without blocks");
      for (size_t j = 0; j < i; ++j) {
        if (stream.block[i] == stream.block[j]) fail(n, "a block extends over one loop twice");
      }
    }
    if (block_volume(g_, stream.block) > kMaxVolume) fail(n, "has blocks that are too large");
  }

  void check_map(NodeId n) {
    const Node& node = g_.nodes[n];
    if (node.contract.empty()) return;
    if (node.op != Op::mul) return fail(n, "contracts, which only a product can");
    for (const Input& input : node.inputs) {
      for (const int index : node.contract) {
        if (input.is_immediate() || !contains(g_.streams[input.stream].block, index)) {
          return fail(n, fmt::format("contracts {}, over which not every operand extends",
                                     list(node.contract)));
        }
      }
    }
  }

  void check_pad(NodeId n) {
    const Node& node = g_.nodes[n];
    const std::vector<int>& made = g_.streams[node.outputs[0]].block;
    for (const int index : g_.streams[node.inputs[0].stream].block) {
      if (!contains(made, index)) fail(n, "loses a dimension of the block");
    }
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const std::vector<int>& loops = g_.streams[node.inputs[i].stream].indices;
      if (loops.empty() || !contains(made, loops.back())) {
        fail(n, "has coordinates of a loop over which the block does not extend");
      }
    }
  }

  /// The values' blocks must be the tensor's: as many dimensions of the same extents.
  void check_extents(NodeId n, StreamId value) {
    const Node& node = g_.nodes[n];
    std::vector<int64_t> expected;
    for (const int64_t extent : tensors_[node.tensor].format.block) {
      if (extent > 1) expected.push_back(extent);
    }
    std::vector<int64_t> extents;
    for (const int index : g_.streams[value].block) {
      if (index >= 0) extents.push_back(g_.indices[index].block);
    }
    if (extents != expected) {
      fail(n, fmt::format("has blocks of [{}], expected [{}]", fmt::join(extents, ","),
                          fmt::join(expected, ",")));
    }
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const GraphError& error_;
  BlockRules rules_;
};

}  // namespace

void check_blocks(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error) {
  Checker(graph, tensors, error).run();
}

}  // namespace fuseflow
