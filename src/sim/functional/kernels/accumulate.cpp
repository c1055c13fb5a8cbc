// Engine: accumulate of any order.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/functional/kernels/accumulate_steps.h"
#include "sim/functional/kernels/block_entries.h"
#include "sim/functional/kernels/entries.h"
#include "sim/functional/node.h"
#include "sim/functional/outer_input.h"
#include "sim/functional/run_length.h"

namespace fuseflow::engine {
namespace {

/// The tokens that one output gives during a batch.
struct OutputTokens {
  std::shared_ptr<Structure> structure;
  std::vector<uint32_t, PoolAllocator<uint32_t>> words;
  bool payloads = false;
  Lane* lane = nullptr;

  void restart(Lane& steps, bool reads) {
    structure = new_structure();
    words.clear();
    payloads = reads;
    lane = &steps;
    lane->kind = Lane::Kind::ranges;
  }
  void payload(uint32_t word, uint32_t step) {
    if (payloads) words.push_back(word);
    lane->add_range(step, 1);
    ++structure->count;
  }
  /// Room for n payloads, given in as many steps; null if they are not read.
  uint32_t* run(uint32_t n, uint32_t step) {
    lane->add_range(step, n);
    structure->count += n;
    if (!payloads) return nullptr;
    words.resize(words.size() + n);
    return words.data() + (words.size() - n);
  }
  void stop(uint16_t level, uint32_t bits, uint32_t step) {
    structure->stops.push_back({structure->count, level, bits});
    payload(0, step);
  }
};

/// Inputs: outer streams, then the n coordinates kept, then the value. Outputs: n coordinates, the
/// value.
class AccumulateNode final : public EngineNode {
 public:
  AccumulateNode(const Context& context, NodeId id)
      : EngineNode(context, id),
        order_(static_cast<size_t>(node_.order)),
        value_(node_.inputs.size() - 1),
        entries_(node_.reduction, start_value(), key_space()),
        blocks_(context, node_, start_value()),
        steps_(sides, rules(context.machine), depths()) {
    two_stores_ = context.machine.accumulate_double_buffered;
    made_.resize(order_ + 1);
  }

  bool reads(size_t input) const override {
    if (input == value_) return reads_output(order_);
    return input >= value_ - order_;
  }
  bool takes_run_length(size_t input) const override {
    return input >= value_ - order_ && depth(input) == depth(value_) && !blocks_.blocked();
  }

 protected:
  bool compute() override {
    if (ended_) return false;
    if (!load()) return false;
    for (size_t j = 0; j <= order_; ++j) made_[j].restart(out_lane(j), reads_output(j));
    blocks_.start_batch();
    run();
    give_all();
    return true;
  }

 private:
  AccumulateRules rules(const Machine& machine) const {
    return {order_, interval_, machine.accumulate_drain_interval_cycles,
            machine.accumulate_outer_stops_take_steps, machine.accumulate_double_buffered};
  }
  std::vector<int> depths() const {
    std::vector<int> all;
    for (size_t i = 0; i <= value_; ++i) all.push_back(depth(i));
    return all;
  }

  /// How many keys there are; 0 where values are blocks, whose entries are in blocks_.
  uint64_t key_space() {
    uint64_t space = 1;
    for (size_t j = 0; j < order_; ++j) {
      const auto stream = static_cast<size_t>(node_.inputs[value_ - order_ + j].stream);
      const int loop = context_.graph.streams[stream].indices.back();
      const int64_t extent =
          std::max<int64_t>(1, context_.graph.indices[static_cast<size_t>(loop)].extent);
      extents_.push_back(static_cast<uint64_t>(extent));
      if (__builtin_mul_overflow(space, static_cast<uint64_t>(extent), &space)) {
        throw Error(ExitCode::rejected, "an accumulator has more than 2^64 coordinates");
      }
    }
    return blocked(node_.inputs.back().stream) ? 0 : space;
  }

  /// The next batch: the value, inputs of its space, and those that go along.
  bool load() {
    fibers_.clear();
    const auto along = [this](size_t i, OuterInput& outer, const Batch& whole) {
      return walk(outer, i, whole);
    };
    if (!read_beside(value_, UINT32_MAX, batch_, along)) return false;
    for (size_t i = 0; i < value_; ++i) {
      if (depth(i) == depth(value_)) load_like(i);
    }
    return true;
  }

  /// The kept coordinates that go along give the keys at which the innermost fibers start: those of
  /// outer loops come first, and their fibers hold the ones of the next loop.
  uint32_t walk(OuterInput& outer, size_t input, const Batch& whole) {
    if (input < value_ - order_) return outer.walk(whole);
    const uint64_t factor = key_factor(input);
    outer_.swap(fibers_);
    fibers_.clear();
    size_t o = 0;
    return outer.walk(whole, [&](uint32_t first, uint32_t last, uint32_t word) {
      check_coordinate(input, word);
      if (first == last) return;
      while (o < outer_.size() && outer_[o].last <= first) ++o;
      const uint64_t base = o < outer_.size() && outer_[o].first <= first ? outer_[o].base : 0;
      fibers_.push_back({first, last, base + factor * word});
    });
  }

  uint64_t key_factor(size_t input) const {
    uint64_t factor = 1;
    for (size_t j = input - (value_ - order_) + 1; j < order_; ++j) factor *= extents_[j];
    return factor;
  }

  void check_coordinate(size_t input, uint64_t word) const {
    if (word >= extents_[input - (value_ - order_)]) refuse("a coordinate is outside of its loop");
  }

  void load_like(size_t input) {
    const Batch batch = ports[input]->batch(batch_.count);
    check_like(batch_, batch);
    if (input < value_ - order_) return;
    coordinates_ = batch;
    if (batch.payload.run_length != nullptr) {
      for_fibers(batch, [&](size_t s, uint32_t first, uint32_t last) {
        const Run run = run_of(batch, s, first);
        check_coordinate(input, uint64_t{run.first} + uint64_t{run.step} * (last - first - 1));
      });
      return;
    }
    check_coordinate(input, loops::largest(batch.payload.words(), batch.count));  // stops are 0
  }

  void run() {
    fiber_ = 0;
    steps_.start_batch();
    uint32_t k = 0;
    for (size_t s = 0; s < batch_.stops.size(); ++s) {
      const Stop& stop = batch_.stops[s];
      const uint32_t at = batch_.at(stop);
      add(s, k, at);
      k = at + 1;
      if (stop.done() || stop.level >= order_) {
        flush(stop, steps_.flush(stop, at));
      } else {
        steps_.pass(stop, at);
      }
    }
    add(batch_.stops.size(), k, batch_.count);
    steps_.end_batch(batch_.count);
  }

  /// Tokens first .. last-1 of the fiber up to the s-th stop.
  void add(size_t s, uint32_t first, uint32_t last) {
    if (first >= last) return;
    uint64_t base = 0;
    if (order_ > 1) {
      while (fibers_[fiber_].last <= first) ++fiber_;
      base = fibers_[fiber_].base;
    }
    if (blocks_.blocked()) {
      stats_.flops += (last - first) * blocks_.volume();
      const auto* names = batch_.payload.words();
      for (uint32_t k = first; k < last; ++k) {
        blocks_.add(base + coordinates_.payload.words()[k], names == nullptr ? nullptr : names + k);
      }
      return;
    }
    stats_.flops += last - first;
    const float* values = values_of(s, first, last);
    if (coordinates_.payload.run_length == nullptr) {
      return entries_.add_many(base, coordinates_.payload.words() + first, values, last - first);
    }
    const Run run = run_of(coordinates_, s, first);
    entries_.add_run(base + run.first, run.step, values, last - first);
  }

  /// Null if they are not read.
  const float* values_of(size_t s, uint32_t first, uint32_t last) {
    if (batch_.payload.run_length == nullptr && batch_.payload.data == nullptr) return nullptr;
    const Words words = fiber_words(batch_, s, first, last, scratch_);
    if (words.step == 0 && last - first > 1) {
      const uint32_t word = *words.first;
      scratch_.assign(last - first, word);
      return reinterpret_cast<const float*>(scratch_.data());
    }
    return reinterpret_cast<const float*>(words.first);
  }

  /// A flush whose first step is step t of those that give.
  void flush(const Stop& stop, uint32_t t) {
    if (stop.done()) {
      for (OutputTokens& given : made_) given.stop(kDoneLevel, 0, t);
      steps_.flushed(0);
      ended_ = true;
      return;
    }
    int64_t entries = 0;
    uint32_t extra = 0;  // steps after the first
    uint64_t previous = 0;
    drain([&](uint64_t key, const float* values, const int64_t* counts, uint32_t count_all) {
      for (uint32_t k = 0; k < count_all;) {
        size_t old = 0;
        if (entries > 0 && order_ > 1) {
          old = shared(previous, key + k);
          if (old + 1 < order_) end_inner(old, t + extra++);
        }
        const uint64_t to_end = extents_.back() - (key + k) % extents_.back();
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(count_all - k, to_end));
        give_entries(key + k, old, values + k, counts == nullptr ? nullptr : counts + k, count,
                     t + extra);
        extra += count;
        entries += count;
        k += count;
        previous = key + k - 1;
      }
    });
    if (node_.capacity > 0 && entries > node_.capacity) {
      refuse(fmt::format("more than its capacity of {} entries", node_.capacity));
    }
    close(stop, entries > 0, t + extra);
    steps_.flushed(extra);
  }

  /// The number of leading coordinates that two keys share.
  size_t shared(uint64_t a, uint64_t b) const {
    size_t same = order_;
    for (size_t j = order_; j-- > 0;) {
      if (a % extents_[j] != b % extents_[j]) same = j;
      a /= extents_[j];
      b /= extents_[j];
    }
    return same;
  }

  template <typename Visit>
  void drain(Visit&& visit) {
    blocks_.blocked() ? blocks_.drain(visit) : entries_.drain(visit);
  }

  /// n entries of one inner fiber; the first `old` coordinates are those of the entry before.
  void give_entries(uint64_t key, size_t old, const float* values, const int64_t* counts,
                    uint32_t n, uint32_t t) {
    uint64_t rest = key / extents_.back();
    for (size_t j = order_ - 1; j-- > old;) {
      made_[j].payload(static_cast<uint32_t>(rest % extents_[j]), t);
      rest /= extents_[j];
    }
    const auto inner = static_cast<uint32_t>(key % extents_.back());
    if (uint32_t* out = made_[order_ - 1].run(n, t)) {
      for (uint32_t k = 0; k < n; ++k) out[k] = inner + k;
    }
    if (counts != nullptr) stats_.flops += n;
    uint32_t* out = made_[order_].run(n, t);
    if (out == nullptr) return;
    std::memcpy(out, values, n * sizeof(float));
    for (uint32_t k = 0; counts != nullptr && k < n; ++k) {
      out[k] = std::bit_cast<uint32_t>(values[k] / static_cast<float>(counts[k]));
    }
  }

  void end_inner(size_t same, uint32_t t) {
    for (size_t j = same + 1; j <= order_; ++j) {
      const size_t loop = std::min(j, order_ - 1);
      const size_t level = loop - same - 1;
      made_[j].stop(static_cast<uint16_t>(level), (2U << level) - 1, t);
    }
  }

  void close(const Stop& stop, bool any, uint32_t t) {
    const size_t outer = stop.level - order_;
    const uint32_t parent_bits = stop.bits >> order_;
    for (size_t j = 0; j <= order_; ++j) {
      const size_t loop = std::min(j, order_ - 1);
      const uint32_t inner = any ? (1U << loop) - 1 : 0U;
      made_[j].stop(static_cast<uint16_t>(outer + loop), (parent_bits << loop) | inner, t);
    }
  }

  void give_all() {
    for (size_t j = 0; j <= order_; ++j) {
      OutputTokens& given = made_[j];
      if (given.structure->count == 0) continue;
      auto words = make_pooled<decltype(given.words)>(std::move(given.words));
      Payload payload{words, given.payloads ? words->data() : nullptr};
      if (j == order_ && !blocks_.keepers().empty()) payload = keeping(payload, blocks_.keepers());
      give(j, StructureRef(std::move(given.structure)), payload);
    }
  }

  const size_t order_;
  const size_t value_;
  std::vector<uint64_t> extents_;  // of the kept coordinates
  Entries entries_;
  BlockEntries blocks_;  // of values that are blocks
  AccumulateSteps steps_;
  std::vector<OutputTokens> made_;
  // the batch at hand
  Batch batch_;
  Batch coordinates_;  // innermost
  std::vector<uint32_t> scratch_;
  struct Fiber {
    uint32_t first;
    uint32_t last;
    uint64_t base;  ///< key of its coordinate 0
  };
  std::vector<Fiber> fibers_;  // the innermost ones, where order > 1
  std::vector<Fiber> outer_;   // of the loop around
  size_t fiber_ = 0;           // the one at hand
};

}  // namespace

std::unique_ptr<EngineNode> make_accumulate_node(const Context& context, NodeId id) {
  const bool here = context.graph.nodes[static_cast<size_t>(id)].kind == NodeKind::accumulate;
  return here ? std::make_unique<AccumulateNode>(context, id) : nullptr;
}

}  // namespace fuseflow::engine
