// Naive executor: parallelize deals the elements of a loop out to copies, serialize puts them and
// their fibers back in order.
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

/// Inputs: the stream, and the coordinates if copies own ranges of them.
class ParallelizeNode final : public NodeRun {
 public:
  ParallelizeNode(const Context& context, NodeId id)
      : NodeRun(context, id), copies_(static_cast<int64_t>(node_.outputs.size())) {
    const Stream& stream = context.graph.streams[node_.inputs[0].stream];
    extent_ = context.graph.indices[stream.indices.back()].extent;
    next_ = first_copy(0, copies_);
  }

  bool step() override {
    begin();
    const Token* head = need(0);
    if (head == nullptr) return false;
    const Token token = *head;
    take(0);
    int64_t copy = next_;
    if (node_.contiguous) {
      if (!take_like(1, 1, token)) return false;
      if (token.is_payload()) copy = owning_copy(need(1)->payload, extent_, copies_);
    }
    for (int64_t p = 0; p < copies_; ++p) {
      if (!token.is_payload() || p == copy) give(static_cast<size_t>(p), token);
    }
    if (!commit_like(token)) return false;
    if (token.is_stop()) ++fiber_;
    next_ = token.is_payload() ? (next_ + 1) % copies_ : first_copy(fiber_, copies_);
    return true;
  }

 private:
  const int64_t copies_;
  int64_t extent_ = 0;
  int64_t next_ = 0;  ///< in turn: the copy that gets the next element
  uint64_t fiber_ = 0;
};

/// Inputs: one stream a copy, `order` loops inside the one that was split. A copy that has given
/// its last element of the current fiber of the split loop is *over*: its stop said so.
class SerializeNode final : public NodeRun {
 public:
  SerializeNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        copies_(node_.inputs.size()),
        inside_(node_.order),
        over_(copies_, false) {
    begin_fiber();
  }

  bool step() override {
    begin();
    size_t copy = turn_;
    if (!in_element_) {
      if (!search(turn_, &copy)) return false;
      if (copy == kNone) return end_fiber();
    }
    const Token* head = need(copy);
    if (head == nullptr) return false;
    const Token token = *head;
    take(copy);
    if (token.is_stop() && token.stop >= inside_ - 1) return end_element(copy, token);
    give(0, token);
    if (!commit()) return false;
    turn_ = copy;
    in_element_ = inside_ > 0;
    if (!in_element_) next_turn();
    return true;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  /// Whether the head of a copy that is not over belongs to an element of the split loop.
  bool is_element(const Token& head) const {
    if (head.is_payload()) return true;
    if (head.is_done() || inside_ == 0) return false;
    return head.stop < inside_ - 1 || head.closes(inside_ - 1);
  }

  /// The first copy from `from` on that has an element left, kNone if there is none. False: wait.
  bool search(size_t from, size_t* found, size_t skip = kNone) {
    *found = kNone;
    for (size_t n = 0; n < copies_; ++n) {
      const size_t copy = from + n < copies_ ? from + n : from + n - copies_;
      if (copy == skip || over_[copy]) continue;
      if (node_.contiguous && copy < from) continue;
      const Token* head = need(copy);
      if (head == nullptr) return false;
      if (!is_element(*head)) continue;
      *found = copy;
      return true;
    }
    return true;
  }

  /// Takes the stop (or done) of every copy that has had no element since its last stop.
  bool take_rest(size_t except, const Token* like) {
    for (size_t copy = 0; copy < copies_; ++copy) {
      if (copy == except || over_[copy]) continue;
      const Token* head = need(copy);
      if (head == nullptr) return false;
      if (like != nullptr &&
          (head->stop != like->stop || head->bits >> inside_ != like->bits >> inside_)) {
        disagree("copies end their fibers differently");
      }
      take(copy);
    }
    return true;
  }

  /// No copy has an element left: all heads are the same stop or done.
  bool end_fiber() {
    const Token* head = need(0);
    if (head == nullptr) return false;
    const Token token = *head;
    if (!take_rest(kNone, &token)) return false;
    give(0, token);
    if (!commit_like(token)) return false;
    ++fiber_;
    begin_fiber();
    return true;
  }

  /// The stop that ends an element's fiber; taken already.
  bool end_element(size_t self, const Token& stop) {
    if (stop.stop < inside_) {  // the copy has a further element
      give(0, stop);
      if (!commit()) return false;
      turn_ = self;
      in_element_ = false;
      next_turn();
      return true;
    }
    size_t next = kNone;
    if (!search(self + 1 < copies_ ? self + 1 : (node_.contiguous ? self : 0), &next, self)) {
      return false;
    }
    if (next != kNone) {
      give(0, stop_token(inside_ - 1, stop.bits & ((1U << inside_) - 1)));
    } else {
      if (!take_rest(self, &stop)) return false;
      give(0, stop);
    }
    if (!commit()) return false;
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
  size_t turn_ = 0;          ///< the copy that gives the current or next element
  bool in_element_ = false;  ///< the current element's fiber has begun (inside_ > 0)
  uint64_t fiber_ = 0;
};

}  // namespace

FUSEFLOW_RUN(parallelize, ParallelizeNode)
FUSEFLOW_RUN(serialize, SerializeNode)

}  // namespace fuseflow::naive
