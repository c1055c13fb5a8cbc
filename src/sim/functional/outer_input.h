// Streams that go along with an inner one (ir-spec/nodes.md, "outer"): which of their tokens the
// steps of the inner one need and take.
#pragma once

#include <cstdint>

#include "sim/functional/node.h"

namespace fuseflow::engine {

/// What walk() throws; EngineNode::work() says which node it was.
struct Disagreement {
  const char* what;
};

/// An outer input beside an inner stream that is `loops` loops deeper.
class OuterInput {
 public:
  /// The steps are those of the inner tokens; what they need and take is added to the lane.
  OuterInput(Port& port, int loops, Lane& lane)
      : port_(&port), loops_(loops), lane_(&lane.list()) {}

  /// Walks the outer tokens that go with a batch of the inner stream. Calls fiber(first, last,
  /// word) for the payloads first..last-1 of each inner fiber, word being the outer payload (of an
  /// empty fiber too: first = last = its stop).
  /// Returns how many inner tokens are served (fewer when outer tokens are missing); throws
  /// Disagreement when the streams disagree.
  template <typename Fiber>
  uint32_t walk(const Batch& inner, Fiber&& fiber);
  uint32_t walk(const Batch& inner) {
    return walk(inner, [](uint32_t, uint32_t, uint32_t) {});
  }
  /// Outer tokens that the last walk has read, at most.
  uint32_t tokens() const { return static_cast<uint32_t>(lane_->at.size()) + 1; }

 private:
  /// The outer stop that goes with an inner one, and the payload before it if that is still there.
  /// False: it is not here.
  bool take_stop(PortCursor& outer, const Stop& inner, uint32_t at, bool payload) {
    PortCursor ahead = outer;
    if (payload) ahead.advance();
    if (!ahead.here()) return false;
    const bool fits =
        !ahead.is_payload() &&
        (inner.done() ? ahead.stop().done() : ahead.stop().level + loops_ == inner.level);
    if (!fits) throw Disagreement{"an outer input ends elsewhere than the inner stream"};
    if (payload) lane_->take(at);
    lane_->take(at);
    ahead.advance();
    outer = ahead;
    return true;
  }
  static void expect_payload(const PortCursor& outer) {
    if (outer.is_payload()) return;
    throw Disagreement{"an outer input has no element where the inner stream has"};
  }

  Port* port_;
  int loops_;
  Lane* lane_;
};

template <typename Fiber>
uint32_t OuterInput::walk(const Batch& inner, Fiber&& fiber) {
  // Boundary loops_ - 1 of an inner stop ends the fiber of an outer element, if it closes: the
  // element is taken there. A stop of level loops_ or more, or done, takes the outer stream's stop
  // too. An element with an empty fiber is needed at its stop only.
  Lane& lane = *lane_;
  PortCursor outer(*port_);
  uint32_t k = 0;
  for (const Stop& stop : inner.stops) {
    const uint32_t at = inner.at(stop);
    if (k < at) {
      if (!outer.here()) return k;
      expect_payload(outer);
      lane.needs(k);
      fiber(k, at, outer.word());
    }
    const bool payload = !stop.done() && stop.level >= loops_ - 1 && stop.closes(loops_ - 1);
    const bool end = stop.done() || stop.level >= loops_;
    if (payload) {
      if (!outer.here()) return at;
      expect_payload(outer);
      if (k == at) {  // an empty fiber
        lane.needs(at);
        fiber(at, at, outer.word());
      }
    }
    if (end) {
      if (!take_stop(outer, stop, at, payload)) {
        lane.cut(at);  // an empty fiber was needed in its step, which is not of this batch
        return at;
      }
    } else if (payload) {
      lane.at.push_back(at);
      outer.advance();
    }
    k = at + 1;
  }
  if (k < inner.count) {
    if (!outer.here()) return k;
    expect_payload(outer);
    lane.needs(k);
    fiber(k, inner.count, outer.word());
  }
  return inner.count;
}

template <typename Walk>
bool EngineNode::read_beside(size_t inner, uint32_t most, Batch& batch, Walk&& walk) {
  uint32_t n = most;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (depth(i) >= depth(inner)) n = std::min(n, ports[i]->ready());
  }
  if (n == 0) return false;
  const Batch whole = ports[inner]->batch(n);
  for (size_t i = 0; i < ports.size(); ++i) {
    if (depth(i) >= depth(inner)) continue;
    OuterInput outer(*ports[i], depth(inner) - depth(i), in_lane(i));
    n = std::min(n, walk(i, outer, whole));
  }
  if (n == 0) return false;
  // An outer input may have noted steps of tokens that another one does not serve.
  for (size_t i = 0; i < ports.size(); ++i) {
    if (depth(i) < depth(inner)) in_lane(i).cut(n);
  }
  batch = ports[inner]->batch(n);
  return true;
}

}  // namespace fuseflow::engine
