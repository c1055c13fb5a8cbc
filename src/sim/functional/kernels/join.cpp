// Engine: the joins. Two groups are merged without branches on coordinates, but by words.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "graph/blocks.h"
#include "nodes/rule.h"
#include "sim/functional/node.h"
#include "sim/functional/payload_loops.h"
#include "support/ceil_div.h"
#include "tensor/storage.h"

namespace fuseflow::engine {
namespace {

/// One group of inputs: coordinates and payloads that are taken together.
struct Group {
  size_t first = 0;  ///< input of the coordinates
  size_t size = 0;
  // the batch at hand
  std::vector<Batch> batches;
  uint32_t n = 0;   ///< tokens
  uint32_t at = 0;  ///< tokens taken
  size_t stop = 0;  ///< the next stop
  const uint32_t* crd = nullptr;
  uint32_t* takes = nullptr;     ///< by token: the step that takes it
  std::vector<uint32_t> source;  ///< by output token: the group's token, or kAbsent

  const Batch& coordinates() const { return batches.front(); }
  /// Where the elements of the current fiber end, as far as they are here.
  uint32_t fiber_end() const {
    const Batch& batch = coordinates();
    return stop < batch.stops.size() ? batch.at(batch.stops[stop]) : n;
  }
  bool at_stop() const { return at < n && at == fiber_end(); }
};

class JoinNode : public EngineNode {
 public:
  JoinNode(const Context& context, NodeId id) : EngineNode(context, id) {
    size_t first = 0;
    for (const int size : node_.groups) {
      Group& group = groups_.emplace_back();
      group.first = first;
      group.size = static_cast<size_t>(size);
      first += group.size;
    }
    StepSource& source = sides.back();
    source.now.in.resize(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      source.now.in[g].always_listed = true;
      source.now.in[g].heads = true;
      std::fill_n(source.in_lane.begin() + static_cast<std::ptrdiff_t>(groups_[g].first),
                  groups_[g].size, static_cast<int>(g));
    }
    source.now.out.front().always_listed = true;
  }

  bool reads(size_t input) const override {
    size_t output = 1;
    for (const Group& group : groups_) {
      if (input == group.first) return true;
      if (input < group.first + group.size) return reads_output(output + input - group.first - 1);
      output += group.size - 1;
    }
    return true;
  }

 protected:
  bool compute() override {
    if (ended_ || !load()) return false;
    start();
    merge();
    if (step_ == 0) return false;
    finish();
    return true;
  }

  /// The steps on the tokens at hand, as far as every group has one.
  virtual void merge() {
    while (!ended_ && all_here()) {
      if (groups_.size() == 2) {
        merge_two();
        drain(0, 1);
        drain(1, 0);
        if (!all_here()) break;
      }
      if (at_stops()) {
        end_fiber();
      } else {
        take_least();
      }
    }
    add_steps(step_);
  }
  bool all_here() const {
    return std::all_of(groups_.begin(), groups_.end(),
                       [](const Group& group) { return group.at < group.n; });
  }
  bool at_stops() const {
    return std::all_of(groups_.begin(), groups_.end(),
                       [](const Group& group) { return group.at_stop(); });
  }

  /// The least coordinate of the heads, of which one has some.
  uint32_t least() const {
    uint32_t least = UINT32_MAX;
    for (const Group& group : groups_) {
      if (!group.at_stop()) least = std::min(least, group.crd[group.at]);
    }
    return least;
  }
  /// One coordinate of any number of groups; whether it is kept.
  bool take_least() {
    const uint32_t coordinate = least();
    size_t have = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      const bool has = !group.at_stop() && group.crd[group.at] == coordinate;
      group.source[tokens_out_] = has ? group.at : kAbsent;
      if (!has) continue;
      group.takes[group.at++] = step_;
      ++have;
    }
    const bool keep = join_rule(node_.kind)
                          ->keeps(have, groups_.size(), groups_[0].source[tokens_out_] != kAbsent);
    if (keep) {
      crd_[tokens_out_] = coordinate;
      gives_[tokens_out_++] = step_;
    }
    ++step_;
    return keep;
  }

  void end_fiber() {
    const Stop& like = groups_[0].coordinates().stops[groups_[0].stop];
    for (Group& group : groups_) {
      const Stop& stop = group.coordinates().stops[group.stop];
      if (stop.level != like.level || stop.bits != like.bits) {
        disagree("two inputs of one space differ in structure");
      }
      group.source[tokens_out_] = group.at;
      group.takes[group.at++] = step_;
      ++group.stop;
    }
    structure_->stops.push_back({tokens_out_, like.level, like.bits});
    crd_[tokens_out_] = 0;
    gives_[tokens_out_++] = step_++;
    ended_ = like.done();
  }

  std::vector<Group> groups_;
  uint32_t step_ = 0;  // number of the next step

 private:
  bool load() {
    uint32_t total = 0;
    for (Group& group : groups_) {
      group.n = ready(group.first, group.size);
      if (group.n == 0) return false;
      total += group.n;
    }
    capacity_ = total;
    for (Group& group : groups_) {
      read_batches(group.first, group.size, group.n, group.batches);
      group.crd = group.coordinates().payload.words();
      group.at = 0;
      group.stop = 0;
      group.source.resize(total);
    }
    return true;
  }

  void start() {
    step_ = 0;
    tokens_out_ = 0;
    structure_ = new_structure();
    crd_ = allocate_payload(capacity_);
    Steps& batch = steps();
    for (size_t g = 0; g < groups_.size(); ++g) {
      batch.in[g].at.resize(groups_[g].n);
      groups_[g].takes = batch.in[g].at.data();
    }
    batch.out.front().at.resize(capacity_);
    gives_ = batch.out.front().at.data();
  }

  void merge_two() {
    switch (node_.kind) {
      case NodeKind::intersect:
        return run<NodeKind::intersect>();
      case NodeKind::unite:
        return run<NodeKind::unite>();
      default:
        return run<NodeKind::leftjoin>();
    }
  }
  /// Steps while both groups have elements here.
  template <NodeKind kKind>
  void run() {
    constexpr bool kIntersect = kKind == NodeKind::intersect;
    constexpr bool kUnite = kKind == NodeKind::unite;
    Group& a = groups_[0];
    Group& b = groups_[1];
    uint32_t i = a.at;
    uint32_t j = b.at;
    const uint32_t i_end = a.fiber_end();
    const uint32_t j_end = b.fiber_end();
    if (i >= i_end || j >= j_end) return;
    uint32_t* source_a = a.source.data();
    uint32_t* source_b = b.source.data();
    uint32_t m = tokens_out_;
    uint32_t t = step_;
    const uint32_t* crd_a = a.crd;
    const uint32_t* crd_b = b.crd;
    uint32_t* take_a = a.takes;
    uint32_t* take_b = b.takes;
    uint32_t* crd = crd_.get();
    uint32_t* gives = gives_;
    const uint32_t m_begin = m;
    while (i < i_end && j < j_end) {
      const uint64_t ca = crd_a[i];
      const uint64_t cb = crd_b[j];
      take_a[i] = t;
      take_b[j] = t;
      gives[m] = t;
      // Not comparisons, of which compilers make branches: le is 1 if ca <= cb, since exactly then
      // ca - cb - 1 wraps below 0.
      const auto le = static_cast<uint32_t>((ca - cb - 1) >> 63);
      const auto ge = static_cast<uint32_t>((cb - ca - 1) >> 63);
      source_a[m] = kUnite ? i | (le - 1) : i;  // all ones (kAbsent) if the coordinate is b's
      source_b[m] = !kIntersect ? j | (ge - 1) : j;
      if (kUnite) crd[m] = static_cast<uint32_t>(std::min(ca, cb));
      m += kIntersect ? (le & ge) : kUnite ? 1 : le;
      i += le;
      j += ge;
      ++t;
    }
    if (!kUnite) {
      for (uint32_t k = m_begin; k < m; ++k) crd[k] = crd_a[source_a[k]];
    }
    a.at = i;
    b.at = j;
    tokens_out_ = m;
    step_ = t;
  }

  /// Two groups: the elements of `one` that are left when `other` is at its stop.
  void drain(size_t one, size_t other) {
    Group& from = groups_[one];
    const Group& ended = groups_[other];
    const uint32_t end = from.fiber_end();
    if (from.at >= end || !ended.at_stop()) return;
    const bool keep =
        node_.kind == NodeKind::unite || (node_.kind == NodeKind::leftjoin && one == 0);
    const uint32_t n = end - from.at;
    std::iota(from.takes + from.at, from.takes + end, step_);
    if (keep) std::iota(gives_ + tokens_out_, gives_ + tokens_out_ + n, step_);
    step_ += n;
    if (keep) {
      std::iota(from.source.begin() + tokens_out_, from.source.begin() + tokens_out_ + n, from.at);
      std::fill_n(groups_[other].source.begin() + tokens_out_, n, kAbsent);
      std::copy_n(from.crd + from.at, n, crd_.get() + tokens_out_);
      tokens_out_ += n;
    }
    from.at = end;
  }
  void finish() {
    structure_->count = tokens_out_;
    for (size_t g = 0; g < groups_.size(); ++g) steps().in[g].at.resize(groups_[g].at);
    steps().out.front().at.resize(tokens_out_);
    if (tokens_out_ == 0) return;
    const StructureRef structure = structure_;
    give(0, structure, {crd_, crd_.get()});
    size_t output = 1;
    for (const Group& group : groups_) {
      for (size_t i = 1; i < group.size; ++i, ++output) give_payload(output, group, i, structure);
    }
  }

  void give_payload(size_t output, const Group& group, size_t input,
                    const StructureRef& structure) {
    if (!connected(output)) return;
    std::shared_ptr<uint32_t[]> out;
    if (reads_output(output)) {
      out = allocate_payload(tokens_out_);
      const uint32_t* in = group.batches[input].payload.words();
      const StreamId stream = node_.inputs[group.first + input].stream;
      const bool value =
          context_.graph.streams[static_cast<size_t>(stream)].kind == StreamKind::val;
      const uint32_t pad = !value            ? kAbsent
                           : blocked(stream) ? pad_block(stream)
                                             : std::bit_cast<uint32_t>(node_.init);
      loops::pick(in, group.source.data(), pad, out.get(), tokens_out_);
      for (const Stop& stop : structure->stops) out[stop.at] = 0;
    }
    const Port& port = *ports[group.first + input];
    give(output, structure, keeping({out, out.get()}, port, group.at));
  }

  /// The name of the block that stands for an absent one.
  uint32_t pad_block(StreamId stream) {
    const int64_t volume =
        block_volume(context_.graph, context_.graph.streams[static_cast<size_t>(stream)].block);
    const auto [pad, fresh] = pads_.try_emplace(volume, 0);
    if (fresh) pad->second = constant_block(node_.init, volume);
    return pad->second;
  }

  std::map<int64_t, uint32_t> pads_;  // by volume
  // the batch at hand
  uint32_t capacity_ = 0;
  uint32_t tokens_out_ = 0;
  uint32_t* gives_ = nullptr;  // by token given: its step
  std::shared_ptr<Structure> structure_;
  std::shared_ptr<uint32_t[]> crd_;
};

/// intersect_words: a word of the levels costs as many steps as it has coordinates that all groups
/// have, or one; coordinates that some group lacks are taken at no cost.
class WordJoinNode final : public JoinNode {
 public:
  WordJoinNode(const Context& context, NodeId id) : JoinNode(context, id) {
    const auto out = static_cast<size_t>(node_.outputs[0]);
    const auto loop = static_cast<size_t>(context.graph.streams[out].indices.back());
    words_ = ceil_div(context.graph.indices[loop].extent, kLevelWordBits);
  }

 protected:
  void merge() override {
    while (!ended_ && all_here()) {
      if (at_stops()) {
        const Stop& stop = groups_[0].coordinates().stops[groups_[0].stop];
        if (!stop.done() && (stop.bits & 1) != 0) go_to(words_);
        end_fiber();
        add_paid(1);
        word_ = 0;
        kept_ = false;
        continue;
      }
      go_to(least() / kLevelWordBits);
      if (take_least()) {
        kept_ = true;
        add_paid(1);
      } else {
        ++free_;
      }
    }
    if (free_ > 0) steps().add(free_, 0);
    free_ = 0;
  }

 private:
  /// Words before `wanted` that gave nothing have a step.
  void go_to(int64_t wanted) {
    const int64_t passed = wanted - word_;
    if (passed <= 0) return;
    const auto silent = static_cast<uint32_t>(passed - (kept_ ? 1 : 0));
    step_ += silent;
    if (silent > 0) add_paid(silent);
    word_ = wanted;
    kept_ = false;
  }
  /// Steps at the interval, after those that cost nothing.
  void add_paid(uint32_t n) {
    if (free_ > 0) {
      steps().add(free_ + 1, 0, interval_);
      --n;
    }
    free_ = 0;
    if (n > 0) steps().add(n, interval_);
  }

  int64_t words_ = 0;  ///< of a fiber
  int64_t word_ = 0;   ///< at hand
  bool kept_ = false;  ///< it has given a coordinate
  uint32_t free_ = 0;  ///< steps not logged yet
};

}  // namespace

std::unique_ptr<EngineNode> make_join_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin:
      return std::make_unique<JoinNode>(context, id);
    case NodeKind::intersect_words:
      return std::make_unique<WordJoinNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
