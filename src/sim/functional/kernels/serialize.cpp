// Engine: serialize.
#include <algorithm>

#include "sim/functional/stepwise_node.h"

namespace fuseflow::engine {
namespace {

/// Inputs: one stream a copy, `order` loops inside the one that was split. A copy that has given
/// its last element of the current fiber of the split loop is over: its stop said so.
class SerializeNode final : public StepwiseNode {
 public:
  SerializeNode(const Context& context, NodeId id)
      : StepwiseNode(context, id),
        copies_(node_.inputs.size()),
        inside_(node_.order),
        over_(copies_, false) {
    begin_fiber();
  }
  bool reads(size_t) const override { return reads_output(0); }

 protected:
  /// Or the steps of all payloads of a fiber that are here.
  bool try_step() override {
    size_t copy = turn_;
    if (!in_element_) {
      if (!search(turn_, &copy)) return false;
      if (copy == kNone) return end_fiber();
    }
    if (!need(copy)) return false;
    const PortCursor& cursor = cursors_[copy];
    if (cursor.is_payload()) {
      turn_ = copy;
      give_token(cursor.word());
      take(turn_);
      in_element_ = inside_ > 0;
      if (in_element_) pass_payloads();
      if (!in_element_) next_turn();
      return true;
    }
    const Stop stop = cursor.stop();
    if (!stop.done() && stop.level >= inside_ - 1) return end_element(copy, stop);
    turn_ = copy;
    give_stop(stop.level, stop.bits);
    take(turn_);
    in_element_ = true;
    return true;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  /// The rest of the payloads of the current innermost fiber, as far as they are here.
  void pass_payloads() {
    PortCursor& cursor = cursors_[turn_];
    while (cursor.here() && cursor.is_payload()) {
      ++step_;
      need(turn_);
      give_token(cursor.word());
      take(turn_);
    }
  }

  bool is_element(const PortCursor& cursor) const {
    if (cursor.is_payload()) return true;
    const Stop& stop = cursor.stop();
    if (stop.done() || inside_ == 0) return false;
    return stop.level < inside_ - 1 || stop.closes(inside_ - 1);
  }

  /// The first copy from `from` on that has an element left, kNone if there is none. False: wait.
  bool search(size_t from, size_t* found, size_t skip = kNone) {
    *found = kNone;
    const size_t count = node_.contiguous ? copies_ - from : copies_;
    for (size_t n = 0; n < count; ++n) {
      const size_t copy = from + n < copies_ ? from + n : from + n - copies_;
      if (copy == skip || over_[copy]) continue;
      if (!need(copy)) return false;
      if (!is_element(cursors_[copy])) continue;
      *found = copy;
      return true;
    }
    return true;
  }

  /// All copies but one, and but those that are over, must have a stop here.
  bool rest_here(size_t except, const Stop& like) {
    for (size_t copy = 0; copy < copies_; ++copy) {
      if (copy == except || over_[copy]) continue;
      if (!need(copy)) return false;
      const PortCursor& cursor = cursors_[copy];
      if (cursor.is_payload() || cursor.stop().level != like.level ||
          cursor.stop().bits >> inside_ != like.bits >> inside_) {
        disagree("copies end their fibers differently");
      }
    }
    return true;
  }

  void take_rest(size_t except) {
    for (size_t copy = 0; copy < copies_; ++copy) {
      if (copy != except && !over_[copy]) take(copy);
    }
  }

  bool end_fiber() {
    if (!cursors_[0].here()) return false;
    const Stop stop = cursors_[0].stop();
    if (!rest_here(kNone, stop)) return false;
    give_stop(stop.level, stop.bits);
    take_rest(kNone);
    ended_ = stop.done();
    ++fiber_;
    begin_fiber();
    return true;
  }

  /// The stop that ends an element's fiber.
  bool end_element(size_t self, const Stop& stop) {
    if (stop.level < inside_) {  // the copy has a further element
      give_stop(stop.level, stop.bits);
      take(self);
      turn_ = self;
      in_element_ = false;
      next_turn();
      return true;
    }
    size_t next = kNone;
    const size_t from = self + 1 < copies_ ? self + 1 : (node_.contiguous ? self : 0);
    if (!search(from, &next, self) || (next == kNone && !rest_here(self, stop))) return false;
    if (next != kNone) {
      give_stop(static_cast<uint16_t>(inside_ - 1), stop.bits & ((1U << inside_) - 1));
    } else {
      give_stop(stop.level, stop.bits);
      take_rest(self);
    }
    take(self);
    in_element_ = false;
    over_[self] = true;
    if (next != kNone) {
      turn_ = next;
    } else {
      ++fiber_;
      begin_fiber();
    }
    return true;
  }

  void next_turn() {
    if (!node_.contiguous) turn_ = turn_ + 1 < copies_ ? turn_ + 1 : 0;
  }

  void begin_fiber() {
    std::fill(over_.begin(), over_.end(), false);
    turn_ = node_.contiguous
                ? 0
                : static_cast<size_t>(first_copy(fiber_, static_cast<int64_t>(copies_)));
  }

  const size_t copies_;
  const int inside_;
  std::vector<bool> over_;
  size_t turn_ = 0;          // the copy that gives the current or next element
  bool in_element_ = false;  // the current element's fiber has begun (inside_ > 0)
  uint64_t fiber_ = 0;
};

}  // namespace

std::unique_ptr<EngineNode> make_serialize_node(const Context& context, NodeId id) {
  const bool here = context.graph.nodes[static_cast<size_t>(id)].kind == NodeKind::serialize;
  return here ? std::make_unique<SerializeNode>(context, id) : nullptr;
}

}  // namespace fuseflow::engine
