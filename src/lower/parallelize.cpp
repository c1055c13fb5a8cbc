#include "lower/parallelize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "lower/finish.h"
#include "lower/split_delays.h"
#include "lower/split_plan.h"
#include "nodes/spaces.h"
#include "support/error.h"

namespace fuseflow {

namespace {

Op operator_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
      return Op::max;
    case Reduction::min:
      return Op::min;
    case Reduction::prod:
      return Op::mul;
    case Reduction::sum:
    case Reduction::mean:
      return Op::add;
  }
  return Op::add;
}

/// Rebuilds a graph with one loop split, as planned.
class Splitter {
 public:
  Splitter(const Graph& graph, const Spaces& spaces, const SplitPlan& plan,
           const Parallel& parallel, const std::vector<size_t>& tags, bool buffers)
      : old_(graph),
        spaces_(spaces),
        plan_(plan),
        copies_(static_cast<size_t>(parallel.factor)),
        contiguous_(parallel.contiguous),
        buffers_(buffers),
        delays_(graph, spaces, plan, parallel),
        tags_(tags),
        outer_(graph.streams.size(), -1),
        copied_(graph.streams.size()) {
    new_.indices = graph.indices;
    new_.scratchpad = graph.scratchpad;
    new_.row_phases = graph.row_phases;
    split_depth_ = spaces.spaces[plan.space].depth;
    find_coordinates();
  }

  void run(Graph& graph, std::vector<size_t>& tags) {
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      tag_ = tags_[n];
      phase_ = old_.nodes[n].phase;
      if (plan_.mode[n] == CopyMode::keep) keep(old_.nodes[n]);
      if (plan_.mode[n] == CopyMode::copy) copy(old_.nodes[n]);
      if (plan_.mode[n] == CopyMode::merge) copy_and_merge(old_.nodes[n]);
    }
    graph = std::move(new_);
    tags = std::move(new_tags_);
  }

 private:
  struct Entries {  ///< what an accumulate gives
    std::vector<StreamId> crds;
    StreamId value = -1;
  };

  /// A coordinate stream of the split loop: it says which copy owns an element.
  void find_coordinates() {
    for (size_t s = 0; contiguous_ && s < old_.streams.size() && coordinates_ < 0; ++s) {
      const bool is_crd = old_.streams[s].kind == StreamKind::crd;
      if (is_crd && spaces_.of_stream[s] == plan_.space) coordinates_ = static_cast<StreamId>(s);
    }
    if (contiguous_ && coordinates_ < 0) {
      throw Error(ExitCode::rejected,
                  "parallel: a loop without coordinates cannot be split by ranges "
                  "of them; split it in turn");
    }
  }

  StreamId add_stream(const Stream& like, StreamKind kind, std::vector<int> indices) {
    Stream stream = like;
    stream.kind = kind;
    stream.indices = std::move(indices);
    stream.producer = static_cast<NodeId>(new_.nodes.size());
    new_.streams.push_back(std::move(stream));
    return static_cast<StreamId>(new_.streams.size()) - 1;
  }

  /// Adds a node whose outputs are like the given streams.
  std::vector<StreamId> add(Node node, const std::vector<Stream>& outputs) {
    node.outputs.clear();
    for (const Stream& like : outputs) {
      const StreamId s = add_stream(like, like.kind, like.indices);
      new_.streams[s].port = static_cast<int>(node.outputs.size());
      node.outputs.push_back(s);
    }
    node.phase = phase_;
    std::vector<StreamId> made = node.outputs;
    new_.nodes.push_back(std::move(node));
    new_tags_.push_back(tag_);
    return made;
  }

  std::vector<Stream> outputs_of(const Node& node) const {
    std::vector<Stream> outputs;
    for (const StreamId s : node.outputs) outputs.push_back(old_.streams[s]);
    return outputs;
  }

  /// The stream outside of the copies: what copies gave is serialized. What has waited in a buffer
  /// of each copy waits in one outside instead: only a buffer gives more than a FIFO holds.
  StreamId outer(StreamId s) {
    if (outer_[s] >= 0) return outer_[s];
    const Node& maker = old_.nodes[old_.streams[s].producer];
    if (maker.kind == NodeKind::buffer) {
      return outer_[s] = buffer(outer(maker.inputs[0].stream), room_of(maker));
    }
    Node node;
    node.kind = NodeKind::serialize;
    node.contiguous = contiguous_;
    node.order = static_cast<int>(old_.streams[s].indices.size()) - split_depth_;
    for (const StreamId c : copied_[s]) node.inputs.push_back({c, 0});
    return outer_[s] = add(std::move(node), {old_.streams[s]})[0];
  }

  /// Tokens that a buffer holds, and those that it has to.
  struct BufferRoom {
    int64_t capacity = 0;
    int64_t least = 0;
    BufferRoom operator+(const BufferRoom& more) const {
      return {capacity + more.capacity, least + more.least};
    }
    BufferRoom operator*(int64_t times) const { return {capacity * times, least * times}; }
    auto operator<=>(const BufferRoom&) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
  };

  static BufferRoom room_of(const Node& buffer) {
    return {buffer.capacity, buffer.least > 0 ? buffer.least : buffer.capacity};
  }

  /// A new stream with room for tokens of another.
  StreamId buffer(StreamId from, const BufferRoom& room) {
    Node node;
    node.kind = NodeKind::buffer;
    node.inputs = {{from, 0}};
    node.capacity = room.capacity;
    if (room.least < room.capacity) node.least = room.least;
    return add(std::move(node), {new_.streams[from]})[0];
  }
  StreamId buffer(StreamId from, int64_t tokens) {
    return buffer(from, BufferRoom{tokens, tokens});
  }

  /// The stream outside, given room for tokens of the split loop to wait.
  StreamId delayed(StreamId s, int64_t tokens) { return delayed(s, BufferRoom{tokens, tokens}); }
  StreamId delayed(StreamId s, const BufferRoom& tokens) {
    if (!buffers_ || tokens.capacity <= 0) return outer(s);
    const auto [place, fresh] = delayed_.emplace(std::pair(s, tokens), -1);
    if (fresh) {
      const bool nested = spaces_.of_stream[s] != plan_.space;
      const int64_t inside = nested ? tokens_below(old_, s, split_depth_) : 1;
      const StreamId from = outer(s);
      const Node& maker = new_.nodes[new_.streams[from].producer];
      // Consumers of one buffer may need its room for themselves: one of them waits for what
      // another one takes.
      const bool buffered = maker.kind == NodeKind::buffer;
      place->second = buffered ? buffer(maker.inputs[0].stream, room_of(maker) + tokens * inside)
                               : buffer(from, tokens * inside);
    }
    return place->second;
  }

  /// The stream inside copy p: what comes from outside, of the split loop, is dealt out.
  StreamId inner(StreamId s, size_t p) {
    if (!plan_.below[spaces_.of_stream[s]]) return outer(s);
    if (copied_[s].empty()) {
      Node node;
      node.kind = NodeKind::parallelize;
      node.contiguous = contiguous_;
      node.inputs = {{delayed(s, delays_.dealt() - delays_.outside(s)), 0}};
      if (contiguous_) {
        const int64_t behind = delays_.dealt() - delays_.outside(coordinates_);
        const BufferRoom room{behind + delays_.reduction(), behind + delays_.least_reduction()};
        node.inputs.push_back({delayed(coordinates_, room), 0});
      }
      copied_[s] = add(std::move(node), std::vector<Stream>(copies_, old_.streams[s]));
      if (buffers_ && delays_.share() > 0) {
        for (StreamId& c : copied_[s]) c = buffer(c, delays_.share());
      }
    }
    return copied_[s][p];
  }

  void keep(const Node& node) {
    Node kept = node;
    const int64_t latest = delays_.latest(node);
    for (Input& input : kept.inputs) {
      if (input.is_immediate()) continue;
      const StreamId s = input.stream;
      const bool waits = plan_.below[spaces_.of_stream[s]];
      input.stream = waits ? delayed(s, latest - delays_.outside(s)) : outer(s);
    }
    const std::vector<StreamId> made = add(std::move(kept), outputs_of(node));
    for (size_t o = 0; o < made.size(); ++o) outer_[node.outputs[o]] = made[o];
  }

  /// The outputs of copy p of a node.
  std::vector<StreamId> copy_one(const Node& node, size_t p) {
    Node one = node;
    for (Input& input : one.inputs) {
      if (!input.is_immediate()) input.stream = inner(input.stream, p);
    }
    return add(std::move(one), outputs_of(node));
  }

  void copy(const Node& node) {
    for (size_t p = 0; p < copies_; ++p) {
      const std::vector<StreamId> made = copy_one(node, p);
      for (size_t o = 0; o < made.size(); ++o) copied_[node.outputs[o]].push_back(made[o]);
    }
  }

  /// Every copy accumulates from the identity; the start value is put in after the merge.
  void copy_and_merge(const Node& node) {
    Node partial = node;
    partial.init = identity(node.reduction);
    std::vector<Entries> parts;
    for (size_t p = 0; p < copies_; ++p) {
      Entries entries;
      entries.crds = copy_one(partial, p);
      entries.value = entries.crds.back();
      entries.crds.pop_back();
      parts.push_back(std::move(entries));
    }
    while (parts.size() > 1) {  // neighbours in pairs, round by round
      std::vector<Entries> merged;
      for (size_t p = 0; p + 1 < parts.size(); p += 2) {
        merged.push_back(merge(parts[p], parts[p + 1], node.reduction));
      }
      if (parts.size() % 2 != 0) merged.push_back(parts.back());
      parts = std::move(merged);
    }
    Entries& whole = parts[0];
    if (!(node.init == partial.init)) {
      Node start;
      start.kind = NodeKind::map;
      start.op = operator_of(node.reduction);
      start.inputs = {{whole.value, 0}, {-1, node.init}};
      whole.value = add(std::move(start), {new_.streams[whole.value]})[0];
    }
    for (size_t o = 0; o < whole.crds.size(); ++o) outer_[node.outputs[o]] = whole.crds[o];
    outer_[node.outputs.back()] = whole.value;
  }

  /// The union of two partial results, loop by loop; fibers inside are moved to the united loop.
  Entries merge(Entries a, Entries b, Reduction reduction) {
    for (size_t loop = 0; loop < a.crds.size(); ++loop) {
      const bool last = loop + 1 == a.crds.size();
      Node unite;
      unite.kind = NodeKind::unite;
      unite.init = identity(reduction);
      std::vector<Stream> outputs = {new_.streams[a.crds[loop]]};
      for (const Entries* part : {&a, &b}) {
        unite.inputs.push_back({part->crds[loop], 0});
        if (last) unite.inputs.push_back({part->value, 0});
        if (last) outputs.push_back(new_.streams[part->value]);
        unite.groups.push_back(last ? 2 : 1);
      }
      const std::vector<StreamId> united = add(std::move(unite), outputs);
      if (last) {
        Node map;
        map.kind = NodeKind::map;
        map.op = operator_of(reduction);
        map.inputs = {{united[1], 0}, {united[2], 0}};
        a.value = add(std::move(map), {outputs[1]})[0];
      } else {
        move_inside(a, loop, united[0]);
        move_inside(b, loop, united[0]);
      }
      a.crds[loop] = united[0];
    }
    return a;
  }

  /// A fiber waits in a buffer: where it goes is known with the next coordinate of `to`, which the
  /// part that has it gives only after its own fiber.
  void move_inside(Entries& part, size_t loop, StreamId to) {
    const auto around = static_cast<int>(new_.streams[to].indices.size());
    const auto moved = [&](StreamId x) {
      if (buffers_) x = buffer(x, tokens_below(new_, x, around));
      Node align;
      align.kind = NodeKind::align;
      align.inputs = {{to, 0}, {part.crds[loop], 0}, {x, 0}};
      return add(std::move(align), {new_.streams[x]})[0];
    };
    for (size_t l = loop + 1; l < part.crds.size(); ++l) part.crds[l] = moved(part.crds[l]);
    part.value = moved(part.value);
  }

  const Graph& old_;
  const Spaces& spaces_;
  const SplitPlan& plan_;
  const size_t copies_;
  const bool contiguous_;
  const bool buffers_;
  const SplitDelays delays_;
  const std::vector<size_t>& tags_;
  int split_depth_ = 0;
  StreamId coordinates_ = -1;
  Graph new_;
  std::vector<size_t> new_tags_;
  std::vector<StreamId> outer_;                                  ///< by old stream
  std::vector<std::vector<StreamId>> copied_;                    ///< by old stream, then copy
  std::map<std::pair<StreamId, BufferRoom>, StreamId> delayed_;  ///< by old stream and tokens
  size_t tag_ = 0;
  int phase_ = 0;
};

/// One entry of the schedule: every loop of the index that has work inside is split.
class IndexSplitter {
 public:
  IndexSplitter(Graph& graph, std::span<const GraphTensor> tensors, const Parallel& parallel,
                std::vector<size_t>& tags, size_t max_nodes, bool buffers)
      : graph_(graph),
        tensors_(tensors),
        parallel_(parallel),
        tags_(tags),
        max_nodes_(max_nodes),
        buffers_(buffers) {}

  void run() {
    size_t splits = split_all(false);
    if (splits == 0 && obstacle_.empty()) splits = split_all(true);
    if (splits > 0) return;
    throw Error(ExitCode::rejected,
                fmt::format("parallel {}: nothing can be copied: {}", parallel_.index,
                            obstacle_.empty() ? "no node runs in this loop" : obstacle_));
  }

 private:
  size_t split_all(bool shallow) {
    for (size_t count = 0;; ++count) {
      const Spaces spaces = compute_spaces(graph_, tensors_);
      const SplitPlan plan = next_plan(spaces, shallow);
      if (plan.space < 0) return count;
      Splitter(graph_, spaces, plan, parallel_, tags_, buffers_).run(graph_, tags_);
      if (graph_.nodes.size() > max_nodes_) {
        throw Error(ExitCode::rejected,
                    fmt::format("parallel {} = {} makes more than {} nodes; choose smaller factors",
                                parallel_.index, parallel_.factor, max_nodes_));
      }
    }
  }

  /// The first loop of the index with something to copy; space -1 if there is none left.
  SplitPlan next_plan(const Spaces& spaces, bool shallow) {
    for (size_t s = 0; s < spaces.spaces.size(); ++s) {
      const Spaces::Space& space = spaces.spaces[s];
      if (space.index < 0 || graph_.indices[space.index].name != parallel_.index) continue;
      if (graph_.nodes[space.opener].kind == NodeKind::parallelize) continue;
      SplitPlan plan = plan_split(graph_, tensors_, spaces, static_cast<int>(s), shallow);
      if (!plan.obstacle.empty()) obstacle_ = plan.obstacle;
      if (plan.any && plan.obstacle.empty() && (plan.deep || shallow)) return plan;
    }
    return {};
  }

  Graph& graph_;
  std::span<const GraphTensor> tensors_;
  const Parallel& parallel_;
  std::vector<size_t>& tags_;
  const size_t max_nodes_;
  const bool buffers_;
  std::string obstacle_;
};

/// The entries, those of inner loops first: an outer copy then repeats what has been split in it.
std::vector<Parallel> innermost_first(const Graph& graph, const std::vector<Parallel>& parallel) {
  std::map<std::string, size_t> depth;
  for (const Stream& stream : graph.streams) {
    for (size_t d = 0; d < stream.indices.size(); ++d) {
      size_t& deepest = depth[graph.indices[stream.indices[d]].name];
      deepest = std::max(deepest, d + 1);
    }
  }
  std::vector<Parallel> sorted;
  std::set<std::string> seen;
  for (const Parallel& entry : parallel) {
    if (depth[entry.index] == 0) {
      std::vector<std::string> names;
      for (const GraphIndex& index : graph.indices) names.push_back(index.name);
      throw Error(
          ExitCode::rejected,
          fmt::format("parallel {}: no loop of the region's graph has this index; there are {}",
                      entry.index, fmt::join(names, ", ")));
    }
    if (!seen.insert(entry.index).second) {
      throw Error(ExitCode::rejected, fmt::format("parallel {} is given twice", entry.index));
    }
    if (entry.factor < 1) {
      throw Error(ExitCode::rejected,
                  fmt::format("parallel {} = {}: expected a factor of at least 1", entry.index,
                              entry.factor));
    }
    if (entry.factor > 1) sorted.push_back(entry);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Parallel& a, const Parallel& b) {
    return depth[a.index] > depth[b.index];
  });
  return sorted;
}

}  // namespace

void parallelize_graph(Graph& graph, std::span<const GraphTensor> tensors,
                       const std::vector<Parallel>& parallel, std::vector<size_t>& tags,
                       size_t max_nodes, bool buffers) {
  for (const Parallel& entry : innermost_first(graph, parallel)) {
    if (static_cast<uint64_t>(entry.factor) > max_nodes) {
      throw Error(ExitCode::rejected,
                  fmt::format("parallel {} = {} makes more than {} nodes; choose a smaller factor",
                              entry.index, entry.factor, max_nodes));
    }
    IndexSplitter(graph, tensors, entry, tags, max_nodes, buffers).run();
  }
}

}  // namespace fuseflow
