#include "nodes/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nodes/rules.h"
#include "nodes/spaces.h"

namespace fuseflow {

BlockRules::BlockRules(const Graph& graph, std::span<const GraphTensor> tensors)
    : g_(graph), tensors_(tensors), loops_(graph.streams.size()) {}

/// The loops whose coordinates a reference has been reached by, or that a coordinate is of. What a
/// node carries on keeps them; references that it makes itself are those of scan, locate and gallop
/// (`level`), of a root or of a counter.
std::vector<int> BlockRules::coordinates(const Node& node, size_t port) const {
  const Stream& stream = g_.streams[node.outputs[port]];
  const NodeRule& rule = node_rule(node.kind);
  const int from = rule.carried(node, port);
  if (from >= 0) return loops_[node.inputs[from].stream];
  const int innermost = stream.indices.empty() ? -1 : stream.indices.back();
  if (stream.kind == StreamKind::crd) return {innermost};
  if (!rule.fields->level) return {};
  if (rule.fields->other_level) {  // a reference of each level, by what both have
    std::vector<int> loops = loops_[node.inputs[port - 1].stream];
    loops.push_back(innermost);
    return loops;
  }
  std::vector<int> loops = loops_[node.inputs[0].stream];
  int by = innermost;  // a scan, or a constant subscript
  if (node.inputs.size() > 1) {
    const std::vector<int>& looked_up = loops_[node.inputs[1].stream];
    by = looked_up.empty() ? -1 : looked_up[0];
  }
  loops.push_back(by);
  return loops;
}

std::vector<int> BlockRules::output(NodeId id, size_t port) {
  const Node& node = g_.nodes[id];
  const StreamId out = node.outputs[port];
  if (loops_.size() < g_.streams.size()) loops_.resize(g_.streams.size());
  if (g_.streams[out].kind == StreamKind::val) {
    return node_rule(node.kind).block(*this, node, port);
  }
  loops_[out] = coordinates(node, port);
  return {};
}

std::vector<int> blocks::of_carried(const BlockRules& rules, const Node& node, size_t port) {
  const auto from = static_cast<size_t>(node_rule(node.kind).carried(node, port));
  return node.inputs[from].is_immediate() ? std::vector<int>{} : rules.input(node, from).block;
}

std::vector<int> blocks::without_ended(const BlockRules& rules, const Node& node, size_t /*port*/) {
  const auto inside = static_cast<size_t>(node.order);
  const Stream& value = rules.input(node, node.inputs.size() - 1);
  std::vector<int> result = value.block;
  if (inside >= value.indices.size()) return result;
  const int ended = value.indices[value.indices.size() - 1 - inside];
  result.erase(std::remove(result.begin(), result.end(), ended), result.end());
  std::sort(result.begin(), result.end());
  return result;
}

void blocks::no_mean(const BlockCheck& check) {
  const Node& node = check.node();
  if (node.reduction != Reduction::mean) return;
  if (check.stream(node.inputs.back().stream).block.empty()) return;
  check.fail("takes the mean of blocks, expected a sum and a division by the count");
}

void BlockCheck::fail(const std::string& message) const {
  error_(id, fmt::format("{}: {}", node_text(g_, tensors_, id), message));
}

std::string BlockCheck::list(const std::vector<int>& indices) const {
  std::vector<std::string> names;
  names.reserve(indices.size());
  for (const int i : indices) names.push_back(i < 0 ? "?" : g_.indices[i].name);
  return fmt::format("[{}]", fmt::join(names, ","));
}

void BlockCheck::expect_blocks_of_tensor(StreamId value) const {
  std::vector<int64_t> expected;
  for (const int64_t extent : tensors_[node().tensor].format.block) {
    if (extent > 1) expected.push_back(extent);
  }
  std::vector<int64_t> extents;
  for (const int index : g_.streams[value].block) {
    if (index >= 0) extents.push_back(g_.indices[index].block);
  }
  if (extents != expected) {
    fail(fmt::format("has blocks of [{}], expected [{}]", fmt::join(extents, ","),
                     fmt::join(expected, ",")));
  }
}

namespace {

/// The block that a stream declares is one that values can have.
void check_declared(const BlockCheck& check, const Graph& graph, const Stream& stream) {
  for (size_t i = 0; i < stream.block.size(); ++i) {
    if (stream.block[i] < 0) return check.fail("a block over an unknown loop");
    if (graph.indices[stream.block[i]].size < 0) {
      check.fail("a block over a loop without blocks");
    }
    for (size_t j = 0; j < i; ++j) {
      if (stream.block[i] == stream.block[j]) check.fail("a block extends over one loop twice");
    }
  }
  if (block_volume(graph, stream.block) > kMaxBlockVolume) {
    check.fail("has blocks that are too large");
  }
}

}  // namespace

void check_blocks(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error) {
  BlockRules rules(graph, tensors);
  BlockCheck check(graph, tensors, error);
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    check.id = n;
    const Node& node = graph.nodes[n];
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const Stream& stream = graph.streams[node.outputs[port]];
      const std::vector<int> expected = rules.output(n, port);
      if (expected == stream.block) {
        check_declared(check, graph, stream);
      } else {
        check.fail(fmt::format("${} is declared with blocks {}, expected {}", stream.name,
                               check.list(stream.block), check.list(expected)));
      }
    }
    node_rule(node.kind).check_block(check);
  }
}

}  // namespace fuseflow
