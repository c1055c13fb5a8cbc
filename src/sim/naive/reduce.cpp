// Naive executor: reduce and accumulate.
#include <fmt/format.h>

#include <bit>
#include <map>

#include "sim/naive/block.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

/// A running reduction: f32, in the order of arrival.
struct Running {
  float value = 0;
  int64_t count = 0;
  std::vector<float> sums = {};  ///< of blocks, instead of `value`

  void add(Reduction reduction, float next) {
    value = combine(reduction, value, next);
    ++count;
  }
  /// The result; a mean divides here, and an empty one is `init`.
  float result(Reduction reduction, float init) const {
    if (count == 0) return init;
    return reduction == Reduction::mean ? value / static_cast<float>(count) : value;
  }
  int64_t flops(Reduction reduction) const { return reduction == Reduction::mean && count > 0; }
};

float start_value(const Node& node) {
  return node.reduction == Reduction::mean ? identity(Reduction::mean) : node.init;
}

class ReduceNode final : public NodeRun {
 public:
  ReduceNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        blocks_(context.graph, node_),
        value_(input_slots() - 1),
        running_(start()) {}

  bool step() override {
    begin();
    const Token* head = need(value_);
    if (head == nullptr) return false;
    if (value_ > 0 && !along(0, 1, *head)) return false;
    take(value_);
    if (head->is_payload()) return add(Token(*head));
    if (head->is_done()) {
      give(0, done_token());
      return commit_last();
    }
    return end_fiber(*head);
  }

 private:
  size_t input_slots() const { return node_.inputs.size(); }

  Running start() const {
    Running running{start_value(node_)};
    if (!blocks_.scalar()) running.sums = blocks_.start(running.value);
    return running;
  }

  bool add(const Token& token) {
    if (!commit()) return false;
    if (blocks_.scalar()) {
      running_.add(node_.reduction, std::bit_cast<float>(token.payload));
    } else {
      blocks_.add(running_.sums, token);
    }
    count_flops(blocks_.volume());
    return true;
  }

  Token result() const {
    if (!blocks_.scalar()) return blocks_.result(running_.sums);
    return payload_token(std::bit_cast<uint32_t>(running_.result(node_.reduction, node_.init)));
  }

  bool end_fiber(const Token& stop) {
    if (stop.closes()) give(0, result());
    if (stop.stop >= 1) give(0, stop_token(stop.stop - 1, stop.bits >> 1));
    if (!commit()) return false;
    count_flops(running_.flops(node_.reduction));
    running_ = start();
    return true;
  }

  const BlockReduce blocks_;
  const size_t value_;  ///< the input of values; an input before it is the parent
  Running running_;
};

/// Inputs: outer streams (parent, coordinates of the reduced loop), then the n coordinates kept,
/// then the value. Outputs: n coordinates, the value.
class AccumulateNode final : public NodeRun {
 public:
  AccumulateNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        blocks_(context.graph, node_),
        order_(static_cast<size_t>(node_.order)),
        value_(node_.inputs.size() - 1) {}

  bool step() override {
    if (two_stores() && flushing_ && drain_step()) return true;
    begin();
    if (flushing_ && !two_stores()) return flush();
    if (next_boundary_ > 0) return outer_stop();
    const Token* head = need(value_);
    if (head == nullptr) return false;
    if (head->is_payload()) return add(*head);
    if (head->is_stop() && context_.machine.accumulate_outer_stops_take_steps) {
      return inner_stop(*head);
    }
    if (!take_all(*head)) return false;
    if (head->is_done() && !two_stores()) return end();
    if (head->is_stop() && static_cast<size_t>(head->stop) < order_) return commit();
    return start_flush(*head);
  }

 private:
  bool end() {
    give_all(done_token());
    return commit_last();
  }

  // --- two stores: one is drained beside the steps that fill the other

  bool two_stores() const { return context_.machine.accumulate_double_buffered; }

  /// The step that would begin the flush hands the store over instead, once the other is drained.
  bool hand_over(const Token& stop) {
    if (flushing_) return false;
    not_before(drained_at_ + 1, true);
    if (!commit()) return false;
    handed_at_ = last_time();
    begin_flush(stop);
    flushing_ = true;
    return true;
  }

  bool drain_step() {
    begin();
    on_other_side();
    not_before(handed_at_);
    if (flush_stop_.is_done()) return end();
    if (!flush()) return false;
    if (!flushing_) drained_at_ = last_time();
    return true;
  }

  using Key = std::vector<uint32_t>;

  size_t first_kept() const { return value_ - order_; }
  int loops_inside(size_t input) const { return depth(value_) - depth(input); }

  /// The coordinates in force, and for each stream what goes with an inner token.
  bool take_all(const Token& head, Key* key = nullptr) {
    const Token token = head;  // NOLINT(performance-unnecessary-copy-initialization): taken below
    for (size_t input = 0; input < value_; ++input) {
      const Token* coordinate = nullptr;
      if (!take_with(input, value_, token, &coordinate)) return false;
      if (key != nullptr && input >= first_kept()) key->push_back(coordinate->payload);
    }
    take(value_);
    return true;
  }

  bool add(const Token& head) {
    Key key;
    const Token token = head;
    if (!take_all(token, &key) || !commit()) return false;
    const auto [entry, fresh] = entries_.try_emplace(std::move(key), Running{start_value(node_)});
    if (blocks_.scalar()) {
      entry->second.add(node_.reduction, std::bit_cast<float>(token.payload));
    } else {
      if (fresh) entry->second.sums = blocks_.start(start_value(node_));
      blocks_.add(entry->second.sums, token);
    }
    count_flops(blocks_.volume());
    if (fresh && node_.capacity > 0 && static_cast<int64_t>(entries_.size()) > node_.capacity) {
      refuse(fmt::format("more than its capacity of {} entries", node_.capacity));
    }
    return true;
  }

  // --- a machine whose accumulators take outer stops apart: a step for each boundary of the stop
  // that closes an element's fiber, up to that of the loop that ends; for the last one in any case

  int last_boundary() const { return std::min<int>(stop_.stop, static_cast<int>(order_)); }

  /// The first of them, which takes the inner stop.
  bool inner_stop(const Token& head) {
    stop_ = head;
    boundary_ = 0;
    while (boundary_ < last_boundary() && !stop_.closes(boundary_)) ++boundary_;
    for (size_t input = 0; input <= value_; ++input) {
      if (loops_inside(input) == 0 && !take_like(input, 1, stop_)) return false;
    }
    return step_of_boundary(true);
  }

  bool outer_stop() {
    boundary_ = next_boundary_;
    return step_of_boundary(false);
  }

  /// Takes the outer elements that end with the boundary, and the outer stops that end there.
  /// `first`: in the step that takes the inner stop.
  bool step_of_boundary(bool first) {
    const bool last = boundary_ == last_boundary();
    for (size_t input = 0; input < value_; ++input) {
      const int loops = loops_inside(input);
      if (loops == 0) continue;
      int64_t before = 0;
      if (loops - 1 == boundary_ && !along_payload(input, loops, stop_, nullptr, &before)) {
        return false;
      }
      // A stop of so many loops less comes in the step of its boundary, or in the first after it.
      const bool here = loops <= boundary_ ? loops == boundary_ || first
                                           : last && loops > static_cast<int>(order_);
      if (here && !along_stop(input, loops, stop_, before)) return false;
    }
    const bool done = last && boundary_ == static_cast<int>(order_) ? start_flush(stop_) : commit();
    if (done) next_boundary_ = last ? 0 : boundary_ + 1;
    return done;
  }

  /// The first step of a flush takes the stop; the others only give.
  bool start_flush(const Token& stop) {
    if (two_stores()) return hand_over(stop);
    begin_flush(stop);
    if (!flush()) {
      entries_.swap(flushed_);
      return false;
    }
    flushing_ = !finished_;
    return true;
  }

  void begin_flush(const Token& stop) {
    flush_stop_ = stop;
    flushed_.swap(entries_);
    next_ = flushed_.begin();
    between_ = false;
    finished_ = false;
  }

  bool flush() {
    if (next_ == flushed_.end()) return close();
    return between_ ? end_inner() : give_entry();
  }

  int64_t drain_cost() const { return context_.machine.accumulate_drain_interval_cycles; }

  /// The number of leading coordinates that `a` and `b` share.
  static size_t shared(const Key& a, const Key& b) {
    size_t n = 0;
    while (n < a.size() && a[n] == b[n]) ++n;
    return n;
  }

  bool give_entry() {
    const Key& key = next_->first;
    const size_t old = next_ == flushed_.begin() ? 0 : shared(std::prev(next_)->first, key);
    for (size_t j = old; j < order_; ++j) give(j, payload_token(key[j]));
    const Running& running = next_->second;
    give(order_,
         blocks_.scalar()
             ? payload_token(std::bit_cast<uint32_t>(running.result(node_.reduction, node_.init)))
             : blocks_.result(running.sums));
    if (!commit(drain_cost())) return false;
    count_flops(running.flops(node_.reduction));
    ++next_;
    between_ =
        next_ != flushed_.end() && shared(std::prev(next_)->first, next_->first) + 1 < order_;
    return true;
  }

  /// The stop between two entries that differ in an outer coordinate: it ends the fibers below it.
  bool end_inner() {
    const size_t same = shared(std::prev(next_)->first, next_->first);
    for (size_t j = same + 1; j <= order_; ++j) {
      const size_t loop = std::min(j, order_ - 1);  // the value stream ends with the last loop
      const int level = static_cast<int>(loop - same - 1);
      give(j, stop_token(level, (2U << level) - 1));
    }
    if (!commit(drain_cost())) return false;
    between_ = false;
    return true;
  }

  bool close() {
    const int outer = flush_stop_.stop - static_cast<int>(order_);
    const auto parent_bits = flush_stop_.bits >> order_;  // bit 0: the parent element
    const uint32_t any = flushed_.empty() ? 0U : 1U;
    for (size_t j = 0; j <= order_; ++j) {
      const int loop = static_cast<int>(std::min(j, order_ - 1));
      const uint32_t inner = any * ((1U << loop) - 1);
      give(j, stop_token(outer + loop, (parent_bits << loop) | inner));
    }
    if (!commit()) return false;
    flushed_.clear();
    flushing_ = false;
    finished_ = true;
    return true;
  }

  const BlockReduce blocks_;
  const size_t order_;
  const size_t value_;
  std::map<Key, Running> entries_;
  std::map<Key, Running> flushed_;  ///< what the flush gives
  std::map<Key, Running>::iterator next_;
  int64_t handed_at_ = 0;
  int64_t drained_at_ = INT64_MIN / 2;
  Token flush_stop_;
  bool flushing_ = false;
  Token stop_;             ///< that takes several steps
  int boundary_ = 0;       ///< of the stop, that the step at hand is for
  int next_boundary_ = 0;  ///< the next one of a stop that has been taken; 0: there is none
  bool finished_ = false;  ///< the flush ended with the step just done
  bool between_ = false;   ///< the next step of the flush is an inner stop
};

}  // namespace

FUSEFLOW_RUN(reduce, ReduceNode)
FUSEFLOW_RUN(accumulate, AccumulateNode)

}  // namespace fuseflow::naive
