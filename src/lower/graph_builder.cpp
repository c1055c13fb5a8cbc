#include "lower/graph_builder.h"

#include <fmt/format.h>

#include <bit>

#include "support/error.h"

namespace fuseflow {

std::vector<Input> streams_in(const std::vector<StreamId>& streams) {
  std::vector<Input> inputs;
  for (const StreamId stream : streams) inputs.push_back({stream, 0});
  return inputs;
}

int GraphBuilder::add_index(const std::string& name, int64_t extent) {
  graph_.indices.push_back({name, extent});
  return static_cast<int>(graph_.indices.size()) - 1;
}

std::vector<int64_t> GraphBuilder::key_of(const Node& node,
                                          const std::vector<OutputSpec>& outputs) const {
  std::vector<int64_t> key{static_cast<int64_t>(node.kind),
                           phase_,
                           node.tensor,
                           node.level,
                           static_cast<int64_t>(node.op),
                           static_cast<int64_t>(node.reduction),
                           node.order,
                           std::bit_cast<int32_t>(node.init),
                           node.offset,
                           node.stride,
                           node.capacity};
  const auto add_list = [&](const auto& list) {
    key.push_back(static_cast<int64_t>(list.size()));
    key.insert(key.end(), list.begin(), list.end());
  };
  add_list(node.strides);
  add_list(node.groups);
  for (const Input& input : node.inputs) {
    key.push_back(input.stream);
    key.push_back(input.is_immediate() ? std::bit_cast<int32_t>(input.immediate) : 0);
  }
  for (const OutputSpec& output : outputs) add_list(output.indices);
  return key;
}

std::vector<StreamId> GraphBuilder::add(Node node, const std::vector<OutputSpec>& outputs) {
  const auto [place, is_new] =
      made_.emplace(key_of(node, outputs), static_cast<NodeId>(graph_.nodes.size()));
  if (!is_new) return graph_.nodes[place->second].outputs;
  node.phase = phase_;
  for (const OutputSpec& output : outputs) {
    node.outputs.push_back(static_cast<StreamId>(graph_.streams.size()));
    graph_.streams.push_back({"", output.kind, output.indices, place->second,
                              static_cast<int>(node.outputs.size()) - 1});
    may_be_absent_.push_back(output.may_be_absent);
  }
  std::vector<StreamId> result = node.outputs;
  add_sink(std::move(node));
  return result;
}

void GraphBuilder::add_sink(Node node) {
  if (graph_.nodes.size() >= max_nodes_) {
    throw Error(ExitCode::rejected,
                fmt::format("the region needs more than {} nodes; split it, or store intermediates "
                            "that are recomputed",
                            max_nodes_));
  }
  node.phase = phase_;
  graph_.nodes.push_back(std::move(node));
  origins_.push_back(origin_);
}

}  // namespace fuseflow
