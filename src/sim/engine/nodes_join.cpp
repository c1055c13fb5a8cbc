// Engine: intersect, unite, leftjoin. Two groups are merged without branches on coordinates.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "graph/blocks.h"
#include "sim/engine/along.h"
#include "sim/engine/kernels.h"
#include "sim/engine/node.h"

namespace fuseflow::engine {
namespace {

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// One group of inputs: coordinates and payloads that are taken together.
struct Group {
  size_t first = 0;  ///< input of the coordinates
  size_t size = 0;
  // the batch at hand
  std::vector<Batch> batches;
  TimeRef arrivals;
  uint32_t n = 0;   ///< tokens
  uint32_t at = 0;  ///< tokens taken
  size_t stop = 0;  ///< the next stop
  const uint32_t* crd = nullptr;
  const int64_t* times = nullptr;  ///< arrivals, when they can bind
  int64_t* takes = nullptr;        ///< times at which the tokens are taken
  std::vector<int64_t> expanded;
  std::vector<uint32_t> source;  ///< by output token: the group's token, or kAbsent

  const Batch& coordinates() const { return batches.front(); }
  /// Where the elements of the current fiber end, as far as they are here.
  uint32_t fiber_end() const {
    const Batch& batch = coordinates();
    return stop < batch.stops.size() ? batch.at(batch.stops[stop]) : n;
  }
  bool at_stop() const { return at < n && at == fiber_end(); }
};

class JoinNode final : public EngineNode {
 public:
  JoinNode(const Context& context, NodeId id) : EngineNode(context, id) {
    size_t first = 0;
    for (const int size : node_.groups) {
      Group& group = groups_.emplace_back();
      group.first = first;
      group.size = static_cast<size_t>(size);
      first += group.size;
    }
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

  bool work() override {
    if (ended_ || !load()) return false;
    start();
    merge();
    if (steps_ == 0) return false;
    pace_.last = next_ - pace_.interval;
    pace_.timing_steps += steps_;
    count_steps(steps_, first_step_);
    if (activity != nullptr) note_steps();
    finish();
    return true;
  }

 private:
  bool load() {
    uint32_t total = 0;
    for (Group& group : groups_) {
      group.n = ready(group.first, group.size);
      if (group.n == 0) return false;
      total += group.n;
    }
    capacity_ = total;
    std::vector<TimeRef> arrivals;
    for (Group& group : groups_) {
      group.batches.clear();
      arrivals.clear();
      for (size_t i = group.first; i < group.first + group.size; ++i) {
        group.batches.push_back(ports[i]->batch(group.n));
        arrivals.push_back(group.batches.back().arrivals);
        check_like(group.batches.front(), group.batches.back());
      }
      group.arrivals = latest(arrivals, group.n);
      group.crd = group.coordinates().payload.words();
      group.at = 0;
      group.stop = 0;
      group.source.resize(total + kSlack);
    }
    return true;
  }

  void start() {
    next_ = pace_.next();
    steps_ = 0;
    given_ = 0;
    bound_ = false;
    for (const Group& group : groups_) bound_ = bound_ || group.arrivals.at(group.n - 1) > next_;
    for (Group& group : groups_) {
      if (bound_) {
        group.expanded.resize(group.n);
        expand(group.arrivals, group.n, group.expanded.data());
        group.times = group.expanded.data();
      }
    }
    structure_ = new_structure();
    crd_ = allocate_payload(capacity_);
    takes_.clear();
    for (size_t g = 0; g < groups_.size(); ++g) takes_.emplace_back(pace_.interval);
    if (log.wanted) return;  // times come later
    for (size_t g = 0; g < groups_.size(); ++g) groups_[g].takes = takes_[g].reserve(groups_[g].n);
    times_ = TimesBuilder(pace_.interval);
    out_times_ = times_.reserve(capacity_);
  }

  void merge() {
    while (!ended_) {
      if (groups_.size() == 2) {
        merge_two();
        drain(0, 1);
        drain(1, 0);
      }
      bool stops = true;
      for (const Group& group : groups_) {
        if (group.at >= group.n) return;
        stops = stops && group.at_stop();
      }
      if (stops) {
        end_fiber();
      } else {
        step();
      }
    }
  }

  void merge_two() {
    switch (node_.kind) {
      case NodeKind::intersect:
        return merge_two_of<0>();
      case NodeKind::unite:
        return merge_two_of<1>();
      default:
        return merge_two_of<2>();
    }
  }
  template <int kKind>
  void merge_two_of() {
    if (log.wanted) return run<kKind, false, true>();
    return bound_ ? run<kKind, true, false>() : run<kKind, false, false>();
  }

  /// Steps while both groups have elements here. kKind: 0 intersect, 1 unite, 2 leftjoin.
  template <int kKind, bool kBound, bool kLog>
  void run() {
    Group& a = groups_[0];
    Group& b = groups_[1];
    uint32_t i = a.at;
    uint32_t j = b.at;
    const uint32_t i_end = a.fiber_end();
    const uint32_t j_end = b.fiber_end();
    if (i >= i_end || j >= j_end) return;
    uint32_t* source_a = a.source.data();
    uint32_t* source_b = b.source.data();
    uint32_t m = given_;
    int64_t t = next_;
    const int64_t interval = pace_.interval;
    const uint32_t* crd_a = a.crd;
    const uint32_t* crd_b = b.crd;
    int64_t* take_a = a.takes;
    int64_t* take_b = b.takes;
    uint32_t* crd = crd_.get();
    int64_t* times = out_times_;
    if (kBound) t = std::max(t, std::max(a.times[i], b.times[j]));
    if (steps_ == 0) first_step_ = t;
    const uint32_t m_begin = m;
    const uint32_t met = i + j;
    uint8_t types[4] = {};  // of steps that take from a (1), b (2), both
    if (kLog) {
      for (uint32_t taken = 1; taken < 4; ++taken) types[taken] = type_of_step(kKind, taken);
    }
    uint8_t* logged = kLog ? log.put_mixed(i_end - i + (j_end - j)) : nullptr;
    uint32_t both = 0;  // coordinates that both have
    while (i < i_end && j < j_end) {
      const uint64_t ca = crd_a[i];
      const uint64_t cb = crd_b[j];
      if (kBound) t = std::max(t, std::max(a.times[i], b.times[j]));
      if (!kLog) {
        take_a[i] = t;
        take_b[j] = t;
        times[m] = t;
      }
      // Not comparisons, of which compilers make branches.
      const auto le = static_cast<uint32_t>((ca - cb - 1) >> 63);
      const auto ge = static_cast<uint32_t>((cb - ca - 1) >> 63);
      source_a[m] = kKind == 1 ? i | (le - 1) : i;  // kAbsent if the coordinate is b's
      source_b[m] = kKind != 0 ? j | (ge - 1) : j;
      if (kKind == 1) crd[m] = static_cast<uint32_t>(std::min(ca, cb));
      if (kLog) *logged++ = types[le | ge << 1];
      both += le & ge;
      m += kKind == 0 ? (le & ge) : kKind == 1 ? 1 : le;
      i += le;
      j += ge;
      t += interval;
    }
    const uint32_t steps = i + j - met - both;
    if (kLog) log.take_back_mixed(i_end - met + j_end - steps);
    if (kKind != 1) {
      for (uint32_t k = m_begin; k < m; ++k) crd[k] = crd_a[source_a[k]];
    }
    a.at = i;
    b.at = j;
    given_ = m;
    next_ = t;
    steps_ += steps;
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
    if (log.wanted) {
      log.put(type_of((keep ? 1U : 0U) | 2U << one), n);
      if (steps_ == 0) first_step_ = next_;
      steps_ += n;
      next_ += n * pace_.interval;
    } else {
      drain_times(from, ended, n, keep);
    }
    if (keep) {
      std::iota(from.source.begin() + given_, from.source.begin() + given_ + n, from.at);
      std::fill_n(groups_[other].source.begin() + given_, n, kAbsent);
      std::copy_n(from.crd + from.at, n, crd_.get() + given_);
      given_ += n;
    }
    from.at = end;
  }
  void drain_times(Group& from, const Group& ended, uint32_t n, bool keep) {
    const int64_t stop_arrival = bound_ ? ended.times[ended.at] : 0;
    for (uint32_t k = 0; k < n; ++k) {
      int64_t t = next_;
      if (bound_) t = std::max(t, std::max(from.times[from.at + k], stop_arrival));
      if (steps_++ == 0) first_step_ = t;
      next_ = t + pace_.interval;
      from.takes[from.at + k] = t;
      if (keep) out_times_[given_ + k] = t;
    }
  }

  /// The time of the next step, which needs the heads of all groups.
  int64_t step_time() {
    int64_t t = next_;
    if (bound_) {
      for (const Group& group : groups_) t = std::max(t, group.times[group.at]);
    }
    if (steps_++ == 0) first_step_ = t;
    next_ = t + pace_.interval;
    return t;
  }

  /// One coordinate of any number of groups.
  void step() {
    uint32_t least = UINT32_MAX;
    bool any = false;
    for (const Group& group : groups_) {
      if (group.at_stop()) continue;
      least = any ? std::min(least, group.crd[group.at]) : group.crd[group.at];
      any = true;
    }
    const int64_t t = step_time();
    size_t have = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      const bool has = !group.at_stop() && group.crd[group.at] == least;
      group.source[given_] = has ? group.at : kAbsent;
      if (!has) continue;
      note_take(group, t);
      ++have;
    }
    const bool keep = node_.kind == NodeKind::unite ||
                      (node_.kind == NodeKind::intersect && have == groups_.size()) ||
                      (node_.kind == NodeKind::leftjoin && groups_[0].source[given_] != kAbsent);
    log_step(keep, false);
    if (!keep) return;
    crd_[given_] = least;
    note_give(t);
  }

  /// The next token of the group is taken, or given, at a time; which is noted if it is known.
  void note_take(Group& group, int64_t t) {
    if (!log.wanted) group.takes[group.at] = t;
    ++group.at;
  }
  void note_give(int64_t t) {
    if (!log.wanted) out_times_[given_] = t;
    ++given_;
  }

  /// Which groups the step at hand has taken from follows from their sources.
  void log_step(bool keep, bool all) {
    if (!log.wanted) return;
    uint32_t code = keep ? 1 : 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (all || groups_[g].source[given_] != kAbsent) code |= 2U << g;
    }
    log.put(type_of(code), 1);
  }

  /// The type of steps that give (bit 0) and take from groups (a bit each).
  uint32_t type_of(uint32_t code) {
    return log.type_of(code, [&](StepType& type) {
      for (size_t g = 0; g < groups_.size(); ++g) {
        const int taken = static_cast<int>((code >> (g + 1)) & 1U);
        for (size_t i = 0; i < groups_[g].size; ++i) type.need(groups_[g].first + i, 1, taken);
      }
      for (size_t o = 0; (code & 1U) != 0 && o < outputs.size(); ++o) type.give(o);
      type.cost = pace_.interval;
    });
  }
  /// The same of two groups, of a coordinate that those in `taken` have; few enough for a byte.
  uint8_t type_of_step(int kind, uint32_t taken) {
    const bool keep = kind == 1 || taken == 3 || (kind == 2 && (taken & 1U) != 0);
    return static_cast<uint8_t>(type_of(taken << 1 | (keep ? 1U : 0U)));
  }

  void end_fiber() {
    const Stop& like = groups_[0].coordinates().stops[groups_[0].stop];
    const int64_t t = step_time();
    for (Group& group : groups_) {
      const Stop& stop = group.coordinates().stops[group.stop];
      if (stop.level != like.level || stop.bits != like.bits) {
        disagree("two inputs of one space differ in structure");
      }
      group.source[given_] = group.at;
      note_take(group, t);
      ++group.stop;
    }
    log_step(true, true);
    structure_->stops.push_back({given_, like.level, like.bits});
    crd_[given_] = 0;
    note_give(t);
    ended_ = like.done();
  }

  /// Every step takes something.
  void note_steps() {
    std::vector<int64_t> times;
    for (const Group& group : groups_)
      times.insert(times.end(), group.takes, group.takes + group.at);
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (const int64_t t : times) activity->add(t, t + pace_.interval - 1);
  }

  void finish() {
    structure_->count = given_;
    const TimeRef steps = times_of(times_, given_);
    if (given_ > 0) {
      const StructureRef structure = structure_;
      give(0, structure, {crd_, crd_.get()}, steps);
      size_t output = 1;
      for (const Group& group : groups_) {
        for (size_t i = 1; i < group.size; ++i, ++output) {
          give_payload(output, group, i, structure, steps);
        }
      }
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      if (group.at == 0) continue;
      take(group.first, group.size, group.at, times_of(takes_[g], group.at));
    }
  }
  /// The first n times that were noted.
  TimeRef times_of(TimesBuilder& noted, uint32_t n) const {
    if (log.wanted || n == 0) return long_ago();
    noted.commit(n);
    return {noted.finish(), 0, 0};
  }

  void give_payload(size_t output, const Group& group, size_t input, const StructureRef& structure,
                    const TimeRef& steps) {
    if (!connected(output)) return;
    std::shared_ptr<uint32_t[]> out;
    if (reads_output(output)) {
      out = allocate_payload(given_);
      const uint32_t* in = group.batches[input].payload.words();
      const StreamId stream = node_.inputs[group.first + input].stream;
      const bool value =
          context_.graph.streams[static_cast<size_t>(stream)].kind == StreamKind::val;
      const uint32_t pad = !value            ? kAbsent
                           : blocked(stream) ? pad_block(stream)
                                             : bits_of(node_.init);
      kernels::pick(in, group.source.data(), pad, out.get(), given_);
      for (const Stop& stop : structure->stops) out[stop.at] = 0;
    }
    const Port& port = *ports[group.first + input];
    give(output, structure, keeping({out, out.get()}, port, group.at), steps);
  }

  /// The name of the block that stands for an absent one.
  uint32_t pad_block(StreamId stream) {
    const int64_t volume =
        block_volume(context_.graph, context_.graph.streams[static_cast<size_t>(stream)].block);
    const auto [pad, fresh] = pads_.try_emplace(volume, 0);
    if (fresh) pad->second = constant_block(node_.init, volume);
    return pad->second;
  }

  std::vector<Group> groups_;
  std::map<int64_t, uint32_t> pads_;  // by volume
  // the batch at hand
  uint32_t capacity_ = 0;
  bool bound_ = false;  // arrivals can delay steps
  int64_t next_ = 0;    // the earliest time of the next step
  int64_t first_step_ = 0;
  uint32_t steps_ = 0;
  uint32_t given_ = 0;
  std::vector<TimesBuilder> takes_;
  TimesBuilder times_;
  int64_t* out_times_ = nullptr;
  std::shared_ptr<Structure> structure_;
  std::shared_ptr<uint32_t[]> crd_;
};

}  // namespace

std::unique_ptr<EngineNode> make_join_node(const Context& context, NodeId id) {
  switch (context.graph.nodes[static_cast<size_t>(id)].kind) {
    case NodeKind::intersect:
    case NodeKind::unite:
    case NodeKind::leftjoin:
      return std::make_unique<JoinNode>(context, id);
    default:
      return nullptr;
  }
}

}  // namespace fuseflow::engine
