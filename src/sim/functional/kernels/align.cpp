// Engine: align, token by token (it is rare, and its inner streams are short).
#include "sim/functional/stepwise_node.h"

namespace fuseflow::engine {
namespace {

/// Inputs: `to` crd<S,j'>, `from` crd<S,j>, x<S,j,k..> with loops_ loops more; from goes along with
/// x.
class AlignNode final : public StepwiseNode {
 public:
  AlignNode(const Context& context, NodeId id)
      : StepwiseNode(context, id), loops_(depth(kX) - depth(kFrom)) {
    steps().out.front().always_listed = true;
  }
  bool reads(size_t input) const override { return input != kX || reads_output(0); }

 protected:
  bool try_step() override {
    const size_t given = words_.size();
    if (!insert_or_move()) return false;
    if (words_.size() > given) out_lane(0).at.push_back(step_);  // it gives one token at most
    return true;
  }

 private:
  enum : size_t { kTo, kFrom, kX };

  struct Token {
    bool payload = false;
    Stop stop{};
    uint32_t word = 0;
    bool done() const { return !payload && stop.done(); }
    bool is_stop() const { return !payload && !stop.done(); }
  };

  /// The token at, or one after, the head of an input. False: it is not here.
  bool read(size_t input, Token& token, uint32_t ahead = 0) {
    if (!need(input, ahead)) return false;
    PortCursor cursor = cursors_[input];
    if (ahead > 0) cursor.advance();
    cursor.here();
    token.payload = cursor.is_payload();
    if (token.payload) {
      token.word = cursor.word();
    } else {
      token.stop = cursor.stop();
    }
    return true;
  }

  bool insert_or_move() {
    Token goal;
    if (!read(kTo, goal)) return false;
    if (from_ended_) return insert(goal);
    Token source;
    if (!read(kFrom, source)) return false;
    if (!in_fiber_ && goal.payload && source.payload && goal.word < source.word) {
      return insert(goal);
    }
    const bool match = goal.payload && source.payload && goal.word == source.word;
    return move(goal, source, match);
  }

  /// A fiber of an element of `to` that `from` lacks.
  bool insert(const Token& goal) {
    bool ended = false;
    if (!settle(goal, true, 1U << (loops_ - 1), from_ended_, ended)) return false;
    if (ended) from_ended_ = false;
    return true;
  }

  /// The next token of x, which is given if it belongs to an element of `to`.
  bool move(const Token& goal, const Token& source, bool match) {
    Token token;
    uint32_t along = 0;
    if (!read(kX, token) || !go_along(token, source, along)) return false;
    const bool inside = token.payload || (token.is_stop() && token.stop.level < loops_ - 1);
    bool ended = false;
    if (token.done()) {
      end_stream(goal);
    } else if (inside) {
      if (match && token.payload) give_token(token.word);
      if (match && !token.payload) give_stop(token.stop.level, token.stop.bits);
    } else {
      const bool element = token.stop.closes(loops_ - 1);
      const bool last = token.stop.level >= loops_;
      if (!settle(goal, element && match, token.stop.bits & low_bits(), last, ended)) return false;
      from_ended_ = last && !ended;
    }
    in_fiber_ = inside;
    for (; along > 0; --along) take(kFrom);
    take(kX);
    return true;
  }

  /// `from` goes along with x, so many tokens of it with this one of x.
  bool go_along(const Token& inner, const Token& source, uint32_t& along) {
    const bool closes =
        inner.is_stop() && inner.stop.level >= loops_ - 1 && inner.stop.closes(loops_ - 1);
    const bool ends = inner.done() || (inner.is_stop() && inner.stop.level >= loops_);
    if ((inner.payload || closes) && !source.payload) {
      disagree("an outer input has no element where the inner stream has");
    }
    along = (closes ? 1U : 0U) + (ends ? 1U : 0U);
    if (!ends) return true;
    Token end = source;
    if (closes && !read(kFrom, end, 1)) return false;
    const bool fits =
        inner.done() ? end.done() : end.is_stop() && end.stop.level + loops_ == inner.stop.level;
    if (!fits) disagree("an outer input ends elsewhere than the inner stream");
    return true;
  }

  /// The end of a fiber of an element, which is `to`'s head if that is consumed: its stop is held
  /// until the next token of `to` says how many loops it ends.
  bool settle(const Token& goal, bool consumes, uint32_t bits, bool from_ends, bool& ended) {
    Token next = goal;
    if (consumes) {
      if (!read(kTo, next, 1)) return false;
      take(kTo);
      held_ = true;
      held_bits_ = bits;
    }
    if (next.payload) {
      if (held_) give_stop(static_cast<uint16_t>(loops_ - 1), held_bits_);
      held_ = false;
      return true;
    }
    if (!from_ends) return true;
    if (!next.is_stop()) disagree("`to` ends elsewhere than `from`");
    take(kTo);
    const uint32_t low = held_ ? held_bits_ : 0U;
    give_stop(static_cast<uint16_t>(loops_ + next.stop.level), low | (next.stop.bits << loops_));
    held_ = false;
    ended = true;
    return true;
  }

  void end_stream(const Token& goal) {
    if (!goal.done()) disagree("`to` ends elsewhere than `from`");
    take(kTo);
    give_stop(kDoneLevel, 0);
    ended_ = true;
  }

  uint32_t low_bits() const { return (1U << loops_) - 1; }

  const int loops_;
  bool in_fiber_ = false;    // x is inside the fiber of from's head
  bool from_ended_ = false;  // the stop that ends from's fiber has been taken, to's not yet
  bool held_ = false;        // the stop of to's last element has still to be given
  uint32_t held_bits_ = 0;
};

}  // namespace

std::unique_ptr<EngineNode> make_align_node(const Context& context, NodeId id) {
  const bool here = context.graph.nodes[static_cast<size_t>(id)].kind == NodeKind::align;
  return here ? std::make_unique<AlignNode>(context, id) : nullptr;
}

}  // namespace fuseflow::engine
