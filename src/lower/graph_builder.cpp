#include "lower/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "graph/graph_key.h"
#include "lower/hash_numbers.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// What tells a node apart (graph/graph_key.h), after other numbers.
struct KeyNumbers {
  std::vector<int64_t>& numbers;

  void number(int64_t value) { numbers.push_back(value); }
  void real(float value) { number(std::bit_cast<int32_t>(value)); }
  void tensor(TensorId tensor) { number(tensor); }
  void stream(StreamId stream) { number(stream); }
};

}  // namespace

std::vector<Input> streams_in(const std::vector<StreamId>& streams) {
  std::vector<Input> inputs;
  inputs.reserve(streams.size());
  for (const StreamId stream : streams) inputs.push_back({stream, 0});
  return inputs;
}

int GraphBuilder::add_index(int64_t extent) {
  graph_.indices.push_back({"", extent});
  merged_.push_back(static_cast<int>(merged_.size()));
  return static_cast<int>(graph_.indices.size()) - 1;
}

/// Appends the key to key_values_.
void GraphBuilder::append_key(const Node& node, std::span<const OutputSpec> outputs) {
  KeyNumbers to{key_values_};
  write_node(node, Differ::among_copies, to);
  // What a loop is called makes no difference (unless names count), but how far it runs does.
  if (node.kind == NodeKind::scan || node.kind == NodeKind::gallop) {
    const int loop = outputs[0].indices.back();
    to.number(names_count_ ? loop : graph_.indices[loop].extent);
  }
}

/// The number of the equal node, or else of the next one, which is entered.
NodeId GraphBuilder::find_or_enter(const Node& node, std::span<const OutputSpec> outputs) {
  if (2 * keys_used_ >= keys_.size()) grow_keys();
  Key key;
  key.first = key_values_.size();
  append_key(node, outputs);
  key.count = key_values_.size() - key.first;
  const int64_t* const values = key_values_.data();
  key.hash = hash_of({values + key.first, key.count});
  const size_t mask = keys_.size() - 1;
  for (size_t at = key.hash & mask;; at = (at + 1) & mask) {
    Key& known = keys_[at];
    if (known.node < 0) {
      key.node = static_cast<NodeId>(graph_.nodes.size());
      known = key;
      ++keys_used_;
      return key.node;
    }
    if (known.hash != key.hash || known.count != key.count) continue;
    if (!std::equal(values + key.first, values + key.first + key.count, values + known.first)) {
      continue;
    }
    key_values_.resize(key.first);
    return known.node;
  }
}

void GraphBuilder::grow_keys() {
  constexpr size_t kLeast = 256;
  std::vector<Key> old(std::max(kLeast, 2 * keys_.size()));
  old.swap(keys_);
  const size_t mask = keys_.size() - 1;
  for (const Key& key : old) {
    if (key.node < 0) continue;
    size_t at = key.hash & mask;
    while (keys_[at].node >= 0) at = (at + 1) & mask;
    keys_[at] = key;
  }
}

int GraphBuilder::representative(int index) const {
  while (merged_[index] != index) index = merged_[index];
  return index;
}

void GraphBuilder::same_index(int a, int b) {
  a = representative(a);
  b = representative(b);
  merged_[std::max(a, b)] = std::min(a, b);
}

std::vector<std::pair<int, int>> GraphBuilder::same_indices() const {
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < merged_.size(); ++i) {
    const auto index = static_cast<int>(i);
    if (merged_[i] != index) pairs.emplace_back(index, merged_[i]);
  }
  return pairs;
}

void GraphBuilder::settle_indices() {
  std::vector<int> settled = merged_;  // the same as an earlier one, which is settled by then
  for (int& index : settled) index = settled[index];
  for (Stream& stream : graph_.streams) {
    for (int& index : stream.indices) index = settled[index];
  }
}

/// The reference that the scan (or gallop) of the same level below the same reference gave with the
/// coordinate.
StreamId GraphBuilder::scanned_reference(const Node& locate, StreamId crd) const {
  const Node& scan = graph_.nodes[graph_.streams[crd].producer];
  const Node& parent = graph_.nodes[graph_.streams[locate.inputs[0].stream].producer];
  if (parent.kind != NodeKind::repeat) return -1;
  const StreamId below = parent.inputs[0].stream;
  if (scan.kind == NodeKind::gallop && locate.offset == 0) {
    const auto is = [&](size_t input, TensorId tensor, int level) {
      return tensor == locate.tensor && level == locate.level && below == scan.inputs[input].stream;
    };
    if (is(0, scan.tensor, scan.level)) return scan.outputs[1];
    if (is(1, scan.other_tensor, scan.other_level)) return scan.outputs[2];
  }
  const bool same = scan.kind == NodeKind::scan && scan.tensor == locate.tensor &&
                    scan.level == locate.level && scan.offset == -locate.offset &&
                    below == scan.inputs[0].stream;
  return same ? scan.outputs[1] : -1;
}

/// The stream that a locate would give, if the coordinate came from the same place (through a
/// joiner).
StreamId GraphBuilder::known_reference(const Node& locate) const {
  if (locate.inputs.size() != 2 || locate.stride != 1) return -1;
  const StreamId crd = locate.inputs[1].stream;
  const Node& join = graph_.nodes[graph_.streams[crd].producer];
  if (join.groups.empty() || graph_.streams[crd].port != 0 || join.kind == NodeKind::drop) {
    return scanned_reference(locate, crd);
  }
  for (const auto& [at, size, port] : groups_of(join)) {
    const StreamId scanned = scanned_reference(locate, join.inputs[at].stream);
    for (size_t k = 1; k < size; ++k) {
      if (scanned >= 0 && join.inputs[at + k].stream == scanned) return join.outputs[port + k - 1];
    }
  }
  return -1;
}

std::vector<StreamId> GraphBuilder::add(Node&& node, std::span<const OutputSpec> outputs) {
  if (node.kind == NodeKind::locate) {
    const StreamId known = known_reference(node);
    if (known >= 0) return {known};
  }
  return graph_.nodes[add_node(std::move(node), outputs)].outputs;
}

StreamId GraphBuilder::add_one(Node&& node, const OutputSpec& output) {
  if (node.kind == NodeKind::locate) {
    const StreamId known = known_reference(node);
    if (known >= 0) return known;
  }
  return graph_.nodes[add_node(std::move(node), {&output, 1})].outputs[0];
}

NodeId GraphBuilder::add_node(Node&& node, std::span<const OutputSpec> outputs) {
  node.phase = phase_;
  const NodeId id = find_or_enter(node, outputs);
  if (static_cast<size_t>(id) < graph_.nodes.size()) return id;
  node.outputs.reserve(outputs.size());
  for (const OutputSpec& output : outputs) {
    node.outputs.push_back(static_cast<StreamId>(graph_.streams.size()));
    graph_.streams.push_back({"",
                              output.kind,
                              {output.indices.begin(), output.indices.end()},
                              id,
                              static_cast<int>(node.outputs.size()) - 1});
    may_be_absent_.push_back(output.may_be_absent);
  }
  add_sink(std::move(node));
  return id;
}

void GraphBuilder::check_room(size_t made) const {
  if (made < max_nodes_) return;
  throw Error(ExitCode::rejected,
              fmt::format("the region needs more than {} nodes; split it, or store intermediates "
                          "that are recomputed",
                          max_nodes_));
}

void GraphBuilder::add_sink(Node&& node) {
  check_room(graph_.nodes.size());
  node.phase = phase_;
  graph_.nodes.push_back(std::move(node));
  origins_.push_back(origin_);
}

}  // namespace fuseflow
