#include "exchange/graph_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/dependency_order.h"
#include "support/error.h"

namespace fuseflow {

GraphAssembler::GraphAssembler() : spaces_(1) {}

int GraphAssembler::loop(const std::string& name, int64_t extent) {
  const auto next = static_cast<int>(loops_.size());
  const int found = name.empty() ? next : by_name_.try_emplace(name, next).first->second;
  if (found == next) loops_.push_back({name, 0});
  loops_[static_cast<size_t>(found)].extent =
      std::max(loops_[static_cast<size_t>(found)].extent, extent);
  return found;
}

void GraphAssembler::fix_extent(const std::string& name, int64_t extent) {
  loops_[static_cast<size_t>(loop(name, extent))].fixed = extent;
}

int GraphAssembler::first_of(int loop) const {
  while (loops_[static_cast<size_t>(loop)].same_as >= 0) {
    loop = loops_[static_cast<size_t>(loop)].same_as;
  }
  return loop;
}

void GraphAssembler::unify(int a, int b) {
  const int kept = std::min(first_of(a), first_of(b));
  const int gone = std::max(first_of(a), first_of(b));
  if (kept == gone) return;
  Loop& into = loops_[static_cast<size_t>(kept)];
  Loop& from = loops_[static_cast<size_t>(gone)];
  from.same_as = kept;
  into.extent = std::max(into.extent, from.extent);
  into.fixed = std::max(into.fixed, from.fixed);
  if (into.name.empty()) into.name = from.name;
}

int64_t GraphAssembler::extent_of(int loop) const {
  const Loop& known = loops_[static_cast<size_t>(first_of(loop))];
  return known.fixed >= 0 ? known.fixed : known.extent;
}

int GraphAssembler::open(int parent, int loop) {
  constexpr int kMaxDepth = 64;
  if (depth_of(parent) == kMaxDepth) {
    throw Error(ExitCode::rejected, "a stream in more than 64 loops");
  }
  spaces_.push_back({parent, loop, depth_of(parent) + 1, -1, -1});
  return static_cast<int>(spaces_.size()) - 1;
}

bool GraphAssembler::is_below(int space, int above) const {
  while (space >= 0 && space != above) space = parent_of(space);
  return space >= 0;
}

std::vector<int> GraphAssembler::loops_of(int space) const {
  std::vector<int> loops(static_cast<size_t>(depth_of(space)));
  for (; space != kRootSpace; space = parent_of(space)) {
    loops[static_cast<size_t>(depth_of(space)) - 1] = loop_of(space);
  }
  return loops;
}

NodeId GraphAssembler::add(Node node) {
  graph_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(graph_.nodes.size()) - 1;
}

StreamId GraphAssembler::give(NodeId node, StreamKind kind, int space, const std::string& name) {
  const auto id = static_cast<StreamId>(graph_.streams.size());
  std::vector<StreamId>& outputs = graph_.nodes[static_cast<size_t>(node)].outputs;
  graph_.streams.push_back({name, kind, {}, node, static_cast<int>(outputs.size())});
  outputs.push_back(id);
  space_of_.push_back(space);
  StreamId& stream = spaces_[static_cast<size_t>(space)].stream;
  if (stream < 0 || (kind == StreamKind::crd && kind_of(stream) != StreamKind::crd)) stream = id;
  const NodeKind made_by = graph_.nodes[static_cast<size_t>(node)].kind;
  const bool moves =
      made_by == NodeKind::drop || made_by == NodeKind::filter || made_by == NodeKind::align;
  if (moves) spaces_[static_cast<size_t>(space)].maker = node;
  return id;
}

StreamId GraphAssembler::add_passed(NodeId id, size_t group, StreamId stream, int space) {
  const StreamId given = give(id, kind_of(stream), space, "");
  Node& node = graph_.nodes[static_cast<size_t>(id)];
  if (node.groups.empty()) {
    node.inputs.push_back({stream, 0});
    return given;
  }
  const InputGroup at = groups_of(node)[group];
  const auto input = static_cast<std::ptrdiff_t>(at.first + at.size);
  // A drop gives on what it takes; a join the payloads of its groups, after the coordinates.
  const auto output =
      node.kind == NodeKind::drop ? input : static_cast<std::ptrdiff_t>(at.port + at.size) - 1;
  node.inputs.insert(node.inputs.begin() + input, {stream, 0});
  ++node.groups[group];
  std::rotate(node.outputs.begin() + output, node.outputs.end() - 1, node.outputs.end());
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    graph_.streams[static_cast<size_t>(node.outputs[port])].port = static_cast<int>(port);
  }
  return given;
}

/// The graph's index of each loop. Loops without a name are called i, j, .. z, i1, ..
std::vector<int> GraphAssembler::number_loops() {
  std::set<std::string> taken;
  for (const Loop& loop : loops_) taken.insert(loop.name);
  int next = 0;
  const auto fresh_name = [&] {
    constexpr int kLetters = 'z' - 'i' + 1;
    for (;; ++next) {
      std::string name(1, static_cast<char>('i' + next % kLetters));
      if (next >= kLetters) name += std::to_string(next / kLetters);
      if (taken.insert(name).second) return name;
    }
  };
  std::vector<int> index(loops_.size(), -1);
  for (size_t l = 0; l < loops_.size(); ++l) {
    const auto first = static_cast<size_t>(first_of(static_cast<int>(l)));
    if (index[first] < 0) {
      index[first] = static_cast<int>(graph_.indices.size());
      const std::string& name = loops_[first].name;
      graph_.indices.push_back(
          {name.empty() ? fresh_name() : name, extent_of(static_cast<int>(first))});
    }
    index[l] = index[first];
  }
  return index;
}

/// Puts producers before consumers, else keeps the order. Inputs may have been added to nodes.
void GraphAssembler::sort_nodes() {
  std::vector<std::vector<size_t>> needs(graph_.nodes.size());
  for (size_t n = 0; n < needs.size(); ++n) {
    for (const Input& input : graph_.nodes[n].inputs) {
      if (!input.is_immediate()) needs[n].push_back(static_cast<size_t>(producer_of(input.stream)));
    }
  }
  const std::vector<size_t> order = dependency_order(needs);
  if (order.size() != needs.size()) {
    throw Error(ExitCode::rejected, "the operations wait for each other in a cycle");
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const size_t n : order) {
    for (const StreamId s : graph_.nodes[n].outputs) {
      graph_.streams[static_cast<size_t>(s)].producer = static_cast<NodeId>(sorted.size());
    }
    sorted.push_back(std::move(graph_.nodes[n]));
  }
  graph_.nodes = std::move(sorted);
}

Graph GraphAssembler::finish() {
  const std::vector<int> index = number_loops();
  for (size_t s = 0; s < graph_.streams.size(); ++s) {
    for (const int loop : loops_of(space_of_[s])) {
      graph_.streams[s].indices.push_back(index[static_cast<size_t>(loop)]);
    }
  }
  sort_nodes();
  name_streams(graph_);
  return std::move(graph_);
}

}  // namespace fuseflow
