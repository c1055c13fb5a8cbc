// Engine: accumulate of any order.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/engine/along.h"
#include "sim/engine/block_entries.h"
#include "sim/engine/credit_times.h"
#include "sim/engine/entries.h"
#include "sim/engine/folded.h"
#include "sim/engine/node.h"

namespace fuseflow::engine {
namespace {

/// The tokens that one output gives during a batch.
struct Given {
  std::shared_ptr<Structure> structure;
  std::vector<uint32_t, PoolAllocator<uint32_t>> words;
  TimesBuilder times;
  bool payloads = false;

  void restart(int64_t gap, bool reads) {
    structure = new_structure();
    words.clear();
    times = TimesBuilder(gap);
    payloads = reads;
  }
  void payload(uint32_t word, int64_t time) {
    if (payloads) words.push_back(word);
    times.append(1, time, 0);
    ++structure->count;
  }
  /// Room for n payloads, given `step` apart; null if they are not read.
  uint32_t* run(uint32_t n, int64_t time, int64_t step) {
    times.append(n, time, n == 1 ? 0 : step);
    structure->count += n;
    if (!payloads) return nullptr;
    words.resize(words.size() + n);
    return words.data() + (words.size() - n);
  }
  void stop(uint16_t level, uint32_t bits, int64_t time) {
    structure->stops.push_back({structure->count, level, bits});
    payload(0, time);
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
        drain_(context.machine.accumulate_drain_interval_cycles),
        entries_(node_.reduction, start_value(), key_space()),
        blocks_(context, node_, start_value()) {
    given_.resize(order_ + 1);
  }

  bool reads(size_t input) const override {
    if (input == value_) return reads_output(order_);
    return input >= value_ - order_;
  }
  bool takes_folded(size_t input) const override {
    return input >= value_ - order_ && depth(input) == depth(value_) && !blocks_.blocked();
  }

  bool work() override {
    if (ended_) return false;
    if (!load()) return false;
    for (size_t j = 0; j <= order_; ++j) {
      given_[j].restart(std::min(drain_, pace_.interval), reads_output(j));
    }
    blocks_.start_batch();
    run();
    give_all();
    return true;
  }

 private:
  float start_value() const {
    return node_.reduction == Reduction::mean ? identity(Reduction::mean) : node_.init;
  }

  int depth(size_t input) const {
    const auto stream = static_cast<size_t>(node_.inputs[input].stream);
    return static_cast<int>(context_.graph.streams[stream].indices.size());
  }

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
    return space;
  }

  /// The next batch: the value, inputs of its space, and those that go along. n_ tokens of them.
  bool load() {
    n_ = ports[value_]->ready();
    for (size_t i = 0; i < value_; ++i) {
      if (depth(i) == depth(value_)) n_ = std::min(n_, ports[i]->ready());
    }
    if (n_ == 0) return false;
    along_.clear();
    arrivals_.clear();
    const Batch whole = ports[value_]->batch(n_);
    fibers_.clear();
    uint32_t served = n_;
    for (size_t i = 0; i < value_; ++i) {
      if (depth(i) == depth(value_)) continue;
      along_.emplace_back(*ports[i], depth(value_) - depth(i));
      try {
        served = std::min(served, walk(along_.back(), i, whole));
      } catch (const Disagreement& problem) {
        disagree(problem.what);
      }
    }
    n_ = served;
    if (n_ == 0) return false;
    batch_ = ports[value_]->batch(n_);
    arrivals_.push_back(batch_.arrivals);
    for (size_t i = 0; i < value_; ++i) {
      if (depth(i) == depth(value_)) load_like(i);
    }
    for (const Along& along : along_) along.add_arrivals(n_, pace_.next(), arrivals_);
    return true;
  }

  /// The kept coordinates that go along give the keys at which the innermost fibers start: those of
  /// outer loops come first, and their fibers hold the ones of the next loop.
  uint32_t walk(Along& along, size_t input, const Batch& whole) {
    if (input < value_ - order_) return along.walk(whole);
    const uint64_t factor = key_factor(input);
    outer_.swap(fibers_);
    fibers_.clear();
    size_t o = 0;
    return along.walk(whole, [&](uint32_t first, uint32_t last, uint32_t word) {
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
    const Batch batch = ports[input]->batch(n_);
    check_like(batch_, batch);
    arrivals_.push_back(batch.arrivals);
    if (input < value_ - order_) return;
    coordinates_ = batch;
    if (batch.payload.folded != nullptr) {
      for_fibers(batch, [&](size_t s, uint32_t first, uint32_t last) {
        const Run run = run_of(batch, s, first);
        check_coordinate(input, uint64_t{run.first} + run.step * (last - first - 1));
      });
      return;
    }
    check_coordinate(input, kernels::largest(batch.payload.words(), n_));  // stops are 0
  }

  void run() {
    fiber_ = 0;
    // Steps between flushes follow the inputs; a flush takes steps of its own.
    TimesBuilder all(std::min<int64_t>(drain_, pace_.interval));
    TimeRef steps;
    uint32_t from = 0;
    uint32_t k = 0;
    bool flushed = false;
    for (size_t s = 0; s < batch_.stops.size(); ++s) {
      const Stop& stop = batch_.stops[s];
      const uint32_t at = batch_.at(stop);
      add(s, k, at);
      k = at + 1;
      stop_code_ = StepCodes::stop(along_, s);
      if (!stop.done() && stop.level < order_) {
        log_step(0, 1);
        continue;
      }
      steps = follow(from, k);
      append_times(all, steps, k - from);
      flush(stop);
      flushed = true;
      from = k;
    }
    add(batch_.stops.size(), k, n_);
    if (from < n_) {
      steps = follow(from, n_);
      if (flushed) append_times(all, steps, n_ - from);
    }
    if (flushed) steps = {all.finish(), 0, 0};
    for (Along& along : along_) along.take(steps, n_);
    for (size_t i = 0; i <= value_; ++i) {
      if (depth(i) == depth(value_)) ports[i]->take(n_, steps);
    }
  }

  TimeRef follow(uint32_t from, uint32_t to) {
    refs_.clear();
    for (const TimeRef& arrival : arrivals_) refs_.push_back(arrival.from(from));
    const TimeRef steps = step_times(pace_, refs_, to - from);
    count_steps(to - from, steps);
    return steps;
  }

  /// Tokens first .. last-1 of the fiber up to the s-th stop.
  void add(size_t s, uint32_t first, uint32_t last) {
    if (first >= last) return;
    stop_code_ = StepCodes::elements();
    log_step(0, last - first);
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
    if (coordinates_.payload.folded == nullptr) {
      return entries_.add_many(base, coordinates_.payload.words() + first, values, last - first);
    }
    const Run run = run_of(coordinates_, s, first);
    entries_.add_run(base + run.first, run.step, values, last - first);
  }

  /// Null if nobody reads them.
  const float* values_of(size_t s, uint32_t first, uint32_t last) {
    if (batch_.payload.folded == nullptr && batch_.payload.data == nullptr) return nullptr;
    const Words words = words_of(batch_, s, first, last, scratch_);
    if (words.step == 0 && last - first > 1) {
      const uint32_t word = *words.first;
      scratch_.assign(last - first, word);
      return reinterpret_cast<const float*>(scratch_.data());
    }
    return reinterpret_cast<const float*>(words.first);
  }

  /// Logs steps that take what stop_code_ says (the first of a flush) and give by kind: 0 nothing;
  /// 1 + j an entry from coordinate j on; 1 + n + j the stops behind coordinate j; 1 + 2n all
  /// stops.
  void log_step(size_t kind, uint32_t count) {
    if (!log.wanted) return;
    const uint32_t code = stop_code_ | (static_cast<uint32_t>(kind) << StepCodes::kOwnShift);
    log.add(code, count, [&](StepType& type) {
      std::vector<size_t> like;
      std::vector<size_t> outer;
      for (size_t i = 0; i <= value_; ++i) {
        (depth(i) == depth(value_) ? like : outer).push_back(i);
      }
      StepCodes(like, outer).needs(code, type);
      const bool all = kind == 1 + 2 * order_;
      type.cost = kind == 0 || all ? pace_.interval : drain_;
      if (kind == 0) return;
      const size_t from = all ? 0 : kind <= order_ ? kind - 1 : kind - order_;
      for (size_t j = from; j <= order_; ++j) type.give(j);
    });
    stop_code_ = StepCodes::kNothingTaken;
  }

  /// The steps of a flush, the first of which is the one just done, at pace_.last.
  void flush(const Stop& stop) {
    int64_t t = pace_.last;
    if (stop.done()) {
      for (Given& given : given_) given.stop(kDoneLevel, 0, t);
      log_step(1 + 2 * order_, 1);
      ended_ = true;
      return;
    }
    int64_t entries = 0;
    int64_t extra = 0;  // steps behind the first
    uint64_t previous = 0;
    drain([&](uint64_t key, const float* values, const int64_t* counts, uint32_t n) {
      for (uint32_t k = 0; k < n;) {
        size_t old = 0;
        if (entries > 0 && order_ > 1) {
          old = shared(previous, key + k);
          if (old + 1 < order_) {
            end_inner(old, t);
            t += drain_;
            ++extra;
          }
        }
        const uint64_t to_end = extents_.back() - (key + k) % extents_.back();
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(n - k, to_end));
        give_entries(key + k, old, values + k, counts == nullptr ? nullptr : counts + k, count, t);
        t += drain_ * static_cast<int64_t>(count);
        extra += count;
        entries += count;
        k += count;
        previous = key + k - 1;
      }
    });
    if (node_.capacity > 0 && entries > node_.capacity) {
      refuse(fmt::format("more than its capacity of {} entries", node_.capacity));
    }
    close(stop, entries > 0, t);
    if (extra == 0) return;
    if (activity != nullptr && t > pace_.last) {
      activity->add(pace_.last + pace_.interval, t + pace_.interval - 1);
    }
    // The step that took the stop was counted with the interval's cost; it costs the drain's.
    pace_.last = t;
    pace_.run_step = kExplicit;
    stats_.steps += extra;
    stats_.busy += extra * drain_;
    stats_.last_step = t;
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
                    uint32_t n, int64_t t) {
    log_step(1 + old, 1);
    log_step(order_, n - 1);
    uint64_t rest = key / extents_.back();
    for (size_t j = order_ - 1; j-- > old;) {
      given_[j].payload(static_cast<uint32_t>(rest % extents_[j]), t);
      rest /= extents_[j];
    }
    const auto inner = static_cast<uint32_t>(key % extents_.back());
    if (uint32_t* out = given_[order_ - 1].run(n, t, drain_)) {
      for (uint32_t k = 0; k < n; ++k) out[k] = inner + k;
    }
    if (counts != nullptr) stats_.flops += n;
    uint32_t* out = given_[order_].run(n, t, drain_);
    if (out == nullptr) return;
    std::memcpy(out, values, n * sizeof(float));
    for (uint32_t k = 0; counts != nullptr && k < n; ++k) {
      const float mean = values[k] / static_cast<float>(counts[k]);
      std::memcpy(out + k, &mean, sizeof(mean));
    }
  }

  void end_inner(size_t same, int64_t t) {
    log_step(1 + order_ + same, 1);
    for (size_t j = same + 1; j <= order_; ++j) {
      const size_t loop = std::min(j, order_ - 1);
      const size_t level = loop - same - 1;
      given_[j].stop(static_cast<uint16_t>(level), (2U << level) - 1, t);
    }
  }

  void close(const Stop& stop, bool any, int64_t t) {
    log_step(1 + 2 * order_, 1);
    const size_t outer = stop.level - order_;
    const uint32_t parent_bits = stop.bits >> order_;
    for (size_t j = 0; j <= order_; ++j) {
      const size_t loop = std::min(j, order_ - 1);
      const uint32_t inner = any ? (1U << loop) - 1 : 0U;
      given_[j].stop(static_cast<uint16_t>(outer + loop), (parent_bits << loop) | inner, t);
    }
  }

  void give_all() {
    for (size_t j = 0; j <= order_; ++j) {
      Given& given = given_[j];
      if (given.structure->count == 0) continue;
      auto words = make_pooled<decltype(given.words)>(std::move(given.words));
      Payload payload{words, given.payloads ? words->data() : nullptr};
      if (j == order_ && !blocks_.keepers().empty()) payload = keeping(payload, blocks_.keepers());
      give(j, StructureRef(std::move(given.structure)), payload, {given.times.finish(), 0, 0});
    }
  }

  const size_t order_;
  const size_t value_;
  const int64_t drain_;
  std::vector<uint64_t> extents_;  // of the kept coordinates
  Entries entries_;
  BlockEntries blocks_;  // of values that are blocks
  std::vector<Given> given_;
  // the batch at hand
  uint32_t n_ = 0;
  uint32_t stop_code_ = 0;  // what the next logged step takes
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
  std::vector<Along> along_;
  std::vector<TimeRef> arrivals_;
  std::vector<TimeRef> refs_;
};

}  // namespace

std::unique_ptr<EngineNode> make_accumulate_node(const Context& context, NodeId id);
std::unique_ptr<EngineNode> make_accumulate_node(const Context& context, NodeId id) {
  return std::make_unique<AccumulateNode>(context, id);
}

}  // namespace fuseflow::engine
