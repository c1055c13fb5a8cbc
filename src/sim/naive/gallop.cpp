// Naive executor: gallop. What two compressed levels have both, a look at a coordinate a step.
#include <array>

#include "sim/common/level_view.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

class GallopNode final : public NodeRun {
 public:
  GallopNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        levels_{
            LevelView(context.program, node_.tensor, node_.level, context.storage(node_.tensor)),
            LevelView(context.program, node_.other_tensor, node_.other_level,
                      context.storage(node_.other_tensor))} {}

  bool step() override {
    begin();
    if (!in_fiber_) {
      const Token* first = need(0);
      const Token* second = need(1);
      if (first == nullptr || second == nullptr) return false;
      if (first->stop != second->stop || first->bits != second->bits) {
        disagree("two inputs of one space differ in structure");
      }
      if (!first->is_payload()) return pass(*first);
      open(first->payload, second->payload);
      take(0);
      take(1);
    }
    return state_.what == SearchPhase::ended ? give_stop() : look();
  }

 private:
  /// What the next step does.
  enum class SearchPhase : uint8_t { heads, doubling, halving, ended };
  /// Where the search is. Elements are numbered from 0 in their fibers.
  struct State {
    SearchPhase what = SearchPhase::ended;
    std::array<int64_t, 2> head{};
    int jumper = 0;          ///< the level that is searched
    int64_t wanted = 0;      ///< for this coordinate, or the first after it
    int64_t power = 1;       ///< doubling: how far from the head it looks next
    int64_t too_small = 0;   ///< an element that is before it
    int64_t big_enough = 0;  ///< one that is not (or the end)
  };

  bool pass(const Token& head) {
    const Token out =
        head.is_done() ? head : stop_token(head.stop + 1, static_cast<uint32_t>(head.bits << 1));
    take(0);
    take(1);
    give_all(out);
    return commit_like(out);
  }

  /// Repeated calls for the same heads (after a wait) do no harm.
  void open(uint32_t first, uint32_t second) {
    references_ = {first, second};
    state_ = {};
    if (first == kAbsent || second == kAbsent) return;
    for (size_t i = 0; i < 2; ++i) {
      fibers_[i] = levels_[i].fiber(references_[i], 0, levels_[i].extent());
    }
    if (fibers_[0].size() > 0 && fibers_[1].size() > 0) state_.what = SearchPhase::heads;
  }

  void enter() {
    if (in_fiber_) return;
    in_fiber_ = true;
    if (references_[0] == kAbsent || references_[1] == kAbsent) return;
    for (size_t i = 0; i < 2; ++i) {
      count_read(levels_[i].position_bytes(references_[i], last_[i]));
      last_[i] = references_[i];
    }
  }

  int64_t coordinate(int level, int64_t element) const {
    const auto i = static_cast<size_t>(level);
    return levels_[i].element(fibers_[i], element).coordinate;
  }
  int64_t size(int level) const { return fibers_[level].size(); }

  bool look() {
    State next = state_;
    bool found = false;
    if (next.what == SearchPhase::heads) {
      const int64_t a = coordinate(0, next.head[0]);
      const int64_t b = coordinate(1, next.head[1]);
      found = a == b;
      if (a < b) search(next, 0, b);
      if (b < a) search(next, 1, a);
    } else {
      found = probe(next);
    }
    if (found) give_found(next);
    if (!commit()) return false;
    enter();
    count_read(state_.what == SearchPhase::heads ? 8 : 4);
    state_ = next;
    if (found) go_past_both();
    return true;
  }

  /// One look at an element of the level that is searched. Whether it has the coordinate.
  bool probe(State& s) const {
    const bool doubling = s.what == SearchPhase::doubling;
    int64_t& head = s.head[s.jumper];
    const int64_t at = doubling ? head + s.power : (s.too_small + s.big_enough) / 2;
    const int64_t there = coordinate(s.jumper, at);
    if (there == s.wanted) {
      head = at;
      return true;
    }
    if (there > s.wanted) {
      s.big_enough = at;
      s.what = SearchPhase::halving;
    } else {
      s.too_small = at;
      s.power *= 2;
      if (doubling && head + s.power >= size(s.jumper)) s.what = SearchPhase::halving;
    }
    if (s.what == SearchPhase::halving && s.too_small + 1 == s.big_enough) {
      head = s.big_enough;
      if (head == size(s.jumper)) {
        s.what = SearchPhase::ended;
      } else {
        search(s, 1 - s.jumper, coordinate(s.jumper, head));
      }
    }
    return false;
  }

  /// The search of a level, whose head is before `wanted`, begins.
  void search(State& s, int level, int64_t wanted) const {
    s.jumper = level;
    s.wanted = wanted;
    s.power = 1;
    s.too_small = s.head[level];
    s.big_enough = size(level);
    s.what = s.too_small + 1 == s.big_enough ? SearchPhase::ended : SearchPhase::doubling;
  }

  void give_found(const State& s) {
    give(0, payload_token(static_cast<uint32_t>(coordinate(0, s.head[0]))));
    for (size_t i = 0; i < 2; ++i) {
      const int64_t position = levels_[i].element(fibers_[i], s.head[i]).position;
      give(i + 1, payload_token(static_cast<uint32_t>(position)));
    }
  }
  void go_past_both() {
    ++state_.head[0];
    ++state_.head[1];
    const bool ended = state_.head[0] == size(0) || state_.head[1] == size(1);
    state_.what = ended ? SearchPhase::ended : SearchPhase::heads;
  }

  bool give_stop() {
    const int64_t ahead = in_fiber_ ? 0 : 1;
    const Token* next = need(0, ahead);
    if (next == nullptr || need(1, ahead) == nullptr) return false;
    Token out = stop_token(0, 1);
    if (next->is_stop()) {
      out = stop_token(next->stop + 1, (next->bits << 1) | 1U);
      take(0);
      take(1);
    }
    give_all(out);
    if (!commit()) return false;
    enter();
    in_fiber_ = false;
    return true;
  }

  std::array<LevelView, 2> levels_;
  std::array<LevelView::Fiber, 2> fibers_;
  std::array<uint32_t, 2> references_{kAbsent, kAbsent};
  std::array<uint32_t, 2> last_{kAbsent, kAbsent};  ///< the references read before
  bool in_fiber_ = false;                           ///< the references have been taken
  State state_;
};

}  // namespace

FUSEFLOW_RUN(gallop, GallopNode)

}  // namespace fuseflow::naive
