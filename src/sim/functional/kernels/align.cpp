// Engine: align, token by token (it is rare, and its inner streams are short).
#include <algorithm>

#include "sim/functional/node.h"

namespace fuseflow::engine {
namespace {

/// Inputs: `to` crd<S,j'>, `from` crd<S,j>, x<S,j,k..> with loops_ loops more; from goes along with
/// x.
class AlignNode final : public EngineNode {
 public:
  AlignNode(const Context& context, NodeId id)
      : EngineNode(context, id), loops_(depth(2) - depth(1)) {
    sides.back().own_lanes(3, 1);
    for (Lane& lane : steps().in) lane.always_listed = true;
    steps().out.front().always_listed = true;
  }
  bool reads(size_t input) const override { return input < 2 || reads_output(0); }

 protected:
  bool compute() override {
    if (ended_) return false;
    PortCursor to(*ports[0]);
    PortCursor from(*ports[1]);
    PortCursor x(*ports[2]);
    structure_ = new_structure();
    payload_.clear();
    while (!ended_ && structure_->count < context_.chunk && step(to, from, x)) {
    }
    if (steps().count == 0) return false;
    finish();
    return true;
  }

 private:
  struct Token {
    bool payload = false;
    Stop stop{};
    uint32_t word = 0;
    bool done() const { return !payload && stop.done(); }
    bool is_stop() const { return !payload && !stop.done(); }
  };

  /// Reads the token at a cursor into the step being made; false if it is not here.
  bool need(size_t input, PortCursor& cursor, Token& token) {
    if (!cursor.here()) return false;
    needed_[input] = std::max(needed_[input], pending_[input] + 1);
    token.payload = cursor.is_payload();
    if (token.payload) {
      token.word = cursor.word();
    } else {
      token.stop = cursor.stop();
    }
    return true;
  }

  void take(size_t input, PortCursor& cursor) {
    cursor.advance();
    ++pending_[input];
  }

  bool step(PortCursor& to_port, PortCursor& from_port, PortCursor& x_port) {
    give_ = false;
    for (size_t i = 0; i < 3; ++i) pending_[i] = needed_[i] = 0;
    PortCursor to = to_port;  // a step that cannot be done leaves the cursors where they were
    PortCursor from = from_port;
    PortCursor x = x_port;
    const State saved = state_;
    if (!try_step(to, from, x)) {
      state_ = saved;
      return false;
    }
    commit();
    to_port = to;
    from_port = from;
    x_port = x;
    return true;
  }

  bool try_step(PortCursor& to, PortCursor& from, PortCursor& x) {
    Token goal;
    if (!need(0, to, goal)) return false;
    if (state_.from_ended) return insert(goal, to);
    Token source;
    if (!need(1, from, source)) return false;
    if (!state_.in_fiber && goal.payload && source.payload && goal.word < source.word) {
      return insert(goal, to);
    }
    const bool match = goal.payload && source.payload && goal.word == source.word;
    return move(goal, match, to, from, x);
  }

  bool move(const Token& goal, bool match, PortCursor& to, PortCursor& from, PortCursor& x) {
    Token token;
    if (!need(2, x, token) || !go_along(token, from)) return false;
    take(2, x);
    if (token.done()) return end_stream(goal, to);
    if (token.payload || token.stop.level < loops_ - 1) {
      if (match) set(token);
      state_.in_fiber = true;
      return true;
    }
    const bool element = token.stop.closes(loops_ - 1);
    const bool last = token.stop.level >= loops_;
    bool ended = false;
    if (!settle(goal, element && match, token.stop.bits & low_bits(), last, to, ended))
      return false;
    state_.in_fiber = false;
    state_.from_ended = last && !ended;
    if (ended) state_.held = false;
    return true;
  }

  /// `from` goes along with x.
  bool go_along(const Token& inner, PortCursor& from) {
    const bool payload = inner.payload || (inner.is_stop() && inner.stop.level >= loops_ - 1 &&
                                           inner.stop.closes(loops_ - 1));
    Token token;
    if (payload) {
      if (!need(1, from, token)) return false;
      if (!token.payload) disagree("an outer input has no element where the inner stream has");
      if (inner.payload) return true;
      take(1, from);
    }
    if (!inner.done() && inner.stop.level < loops_) return true;
    if (!need(1, from, token)) return false;
    const bool fits = inner.done()
                          ? token.done()
                          : token.is_stop() && token.stop.level + loops_ == inner.stop.level;
    if (!fits) disagree("an outer input ends elsewhere than the inner stream");
    take(1, from);
    return true;
  }

  bool insert(const Token& goal, PortCursor& to) {
    bool ended = false;
    if (!settle(goal, true, 1U << (loops_ - 1), state_.from_ended, to, ended)) return false;
    if (ended) state_.from_ended = state_.held = false;
    return true;
  }

  bool settle(const Token& goal, bool consumes, uint32_t bits, bool from_ends, PortCursor& to,
              bool& ended) {
    Token next = goal;
    if (consumes) {
      take(0, to);
      if (!need(0, to, next)) return false;
      state_.held = true;
      state_.held_bits = bits;
    }
    if (next.payload) {
      if (state_.held) set_stop(loops_ - 1, state_.held_bits);
      state_.held = false;
      return true;
    }
    if (!from_ends) return true;
    if (!next.is_stop()) disagree("`to` ends elsewhere than `from`");
    take(0, to);
    const uint32_t low = state_.held ? state_.held_bits : 0U;
    set_stop(loops_ + next.stop.level, low | (next.stop.bits << loops_));
    ended = true;
    return true;
  }

  bool end_stream(const Token& goal, PortCursor& to) {
    if (!goal.done()) disagree("`to` ends elsewhere than `from`");
    take(0, to);
    set_stop(kDoneLevel, 0);
    ended_ = true;
    return true;
  }

  void set(const Token& token) {
    give_ = true;
    out_ = token;
  }
  void set_stop(int level, uint32_t bits) {
    give_ = true;
    out_ = {false, {0, static_cast<uint16_t>(level), bits}, 0};
  }

  void commit() {
    const uint32_t number = steps().count;
    for (size_t i = 0; i < 3; ++i) {
      Lane& lane = in_lane(i);
      for (uint32_t k = 0; k < needed_[i]; ++k) lane.needs(number, k);
      lane.at.insert(lane.at.end(), pending_[i], number);
    }
    EngineNode::step(1);
    if (!give_) return;
    if (!out_.payload) {
      structure_->stops.push_back({structure_->count, out_.stop.level, out_.stop.bits});
    }
    payload_.push_back(out_.payload ? out_.word : 0);
    out_lane(0).at.push_back(number);
    ++structure_->count;
  }

  void finish() {
    auto words = std::make_shared<std::vector<uint32_t>>(std::move(payload_));
    payload_ = {};
    const auto taken = static_cast<uint32_t>(in_lane(2).at.size());
    const Payload payload =
        keeping({words, reads_output(0) ? words->data() : nullptr}, *ports[2], taken);
    if (structure_->count > 0) give(0, StructureRef(std::move(structure_)), payload);
  }

  uint32_t low_bits() const { return (1U << loops_) - 1; }

  struct State {
    bool in_fiber = false;    // x is inside the fiber of from's head
    bool from_ended = false;  // the stop that ends from's fiber has been taken, to's not yet
    bool held = false;        // the stop of to's last element has still to be given
    uint32_t held_bits = 0;
  };

  const int loops_;
  State state_;
  // the step being made
  uint32_t pending_[3] = {0, 0, 0};  // tokens taken of each input
  uint32_t needed_[3] = {0, 0, 0};
  bool give_ = false;
  Token out_;
  // the chunk being made
  std::shared_ptr<Structure> structure_;
  std::vector<uint32_t> payload_;
};

}  // namespace

std::unique_ptr<EngineNode> make_align_node(const Context& context, NodeId id) {
  const bool here = context.graph.nodes[static_cast<size_t>(id)].kind == NodeKind::align;
  return here ? std::make_unique<AlignNode>(context, id) : nullptr;
}

}  // namespace fuseflow::engine
