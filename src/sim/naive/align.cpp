// Naive executor: align moves fibers of one stream under the coordinates of another.
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

/// Inputs: `to` crd<S,j'>, `from` crd<S,j>, x<S,j,k..> with `loops_` loops more. `from` goes along
/// with x.
class AlignNode final : public NodeRun {
 public:
  AlignNode(const Context& context, NodeId id)
      : NodeRun(context, id), loops_(depth(2) - depth(1)) {}

  bool step() override {
    begin();
    const Token* to = need(0);
    if (to == nullptr) return false;
    const Token goal = *to;
    if (from_ended_) return insert(goal);
    const Token* from = need(1);
    if (from == nullptr) return false;
    if (!in_fiber_ && goal.is_payload() && from->is_payload() && goal.payload < from->payload) {
      return insert(goal);
    }
    const bool match = goal.is_payload() && from->is_payload() && goal.payload == from->payload;
    return move(goal, match);
  }

 private:
  /// Takes the next token of x: of a fiber that goes to `goal` if they match, else to nowhere.
  bool move(const Token& goal, bool match) {
    const Token* head = need(2);
    if (head == nullptr) return false;
    const Token x = *head;
    if (!along(1, loops_, x)) return false;
    take(2);
    if (x.is_done()) return end_stream(goal);
    if (x.is_payload() || x.stop < loops_ - 1) {
      if (match) give(0, x);
      in_fiber_ = true;
      return commit();
    }
    const bool element = x.closes(loops_ - 1);
    const bool last = x.stop >= loops_;
    bool ended = false;
    if (!end_fiber(goal, element && match, x.bits & low_bits(), last, &ended)) return false;
    in_fiber_ = false;
    from_ended_ = last && !ended;
    return true;
  }

  /// An empty fiber for an element of `to` that `from` lacks.
  bool insert(const Token& goal) {
    bool ended = false;
    if (!end_fiber(goal, true, 1U << (loops_ - 1), from_ended_, &ended)) return false;
    if (ended) from_ended_ = false;
    return true;
  }

  /// The step that ends the fiber of the element `goal` (if `consumes`) with the given low bits.
  /// Gives its stop at once if another element follows or both sides have ended; else holds it
  /// back. *ended: the stop that ends the fiber of S was given. False: wait.
  bool end_fiber(const Token& goal, bool consumes, uint32_t bits, bool from_ends, bool* ended) {
    bool held = held_ || consumes;
    const uint32_t held_bits = consumes ? bits : held_bits_;
    Token next = goal;
    if (consumes) {
      const Token* token = need(0, 1);
      if (token == nullptr) return false;
      next = *token;
      take(0);
    }
    if (next.is_payload()) {
      if (held) give(0, stop_token(loops_ - 1, held_bits));
      held = false;
    } else if (from_ends) {
      if (!next.is_stop()) disagree("`to` ends elsewhere than `from`");
      take(0);
      const uint32_t low = held ? held_bits : 0U;
      give(0, stop_token(loops_ + next.stop, low | (next.bits << loops_)));
      *ended = true;
      held = false;
    }
    if (!commit()) return false;
    held_ = held;
    held_bits_ = held_bits;
    return true;
  }

  bool end_stream(const Token& goal) {
    if (!goal.is_done()) disagree("`to` ends elsewhere than `from`");
    take(0);
    give(0, done_token());
    return commit_last();
  }

  uint32_t low_bits() const { return (1U << loops_) - 1; }

  const int loops_;
  bool in_fiber_ = false;    ///< x is inside the fiber of from's head
  bool from_ended_ = false;  ///< the stop that ends from's fiber has been taken, to's not yet
  bool held_ = false;        ///< the stop of to's last element has still to be given
  uint32_t held_bits_ = 0;
};

}  // namespace

FUSEFLOW_RUN(align, AlignNode)

}  // namespace fuseflow::naive
