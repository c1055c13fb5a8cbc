// Streams that go along with an inner one (ir-spec/timing.md "outer"), and steps that wait at a few
// places only: which tokens they wait for, and when those are taken.
#pragma once

#include <vector>

#include "sim/engine/port.h"

namespace fuseflow::engine {

/// From step `at` of a batch on, a token is needed that arrives at `time`.
struct Gate {
  uint32_t at;
  int64_t time;
};

/// The gates as arrival times of n steps; false if no gate can delay a step (all are passed before
/// `earliest`, or before the arrivals of `beside`, whose tokens the same steps need).
bool gate_arrivals(std::span<const Gate> gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals);

/// Times of steps `at`[..] (in order) picked out of the times of all steps, which are `gap` apart.
TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at, uint32_t n, int64_t gap);

/// An outer input beside an inner stream that is `loops` loops deeper.
class Along {
 public:
  Along(Port& port, int loops) : port_(&port), loops_(loops) {}

  /// Walks the outer tokens that go with a batch of the inner stream. Calls fiber(first, last,
  /// word) for the payloads first..last-1 of each inner fiber, word being the outer payload (of an
  /// empty fiber too: first = last = its stop).
  /// Returns how many inner tokens are served (fewer when outer tokens are missing); throws
  /// std::string when the streams disagree.
  template <typename Fiber>
  uint32_t walk(const Batch& inner, Fiber&& fiber);
  uint32_t walk(const Batch& inner) {
    return walk(inner, [](uint32_t, uint32_t, uint32_t) {});
  }

  /// Adds the arrivals that the steps of the last walk wait for, if any can bind.
  void add_arrivals(uint32_t n, int64_t earliest, std::vector<TimeRef>& arrivals) const;
  /// Takes what the first n inner tokens take, at the times of their steps.
  void take(const TimeRef& steps, uint32_t n);

 private:
  Port* port_;
  int loops_;
  std::vector<Gate> gates_;
  std::vector<uint32_t> takes_;  ///< by outer token: the inner token whose step takes it
};

/// What walk() throws.
struct Disagreement {
  const char* what;
};

template <typename Fiber>
uint32_t Along::walk(const Batch& inner, Fiber&& fiber) {
  gates_.clear();
  takes_.clear();
  PortCursor outer(*port_);
  uint32_t k = 0;
  for (const Stop& stop : inner.stops) {
    const uint32_t at = inner.at(stop);
    if (k < at) {
      if (!outer.here()) return k;
      if (!outer.is_payload()) throw Disagreement{"an outer input has no element where the inner stream has"};
      gates_.push_back({k, outer.arrival()});
      fiber(k, at, outer.word());
    }
    const bool payload =
        !stop.done() && stop.level >= loops_ - 1 && stop.closes(loops_ - 1);
    const bool end = stop.done() || stop.level >= loops_;
    if (payload) {
      if (!outer.here()) return at;
      if (!outer.is_payload()) throw Disagreement{"an outer input has no element where the inner stream has"};
      if (k == at) {  // an empty fiber
        gates_.push_back({at, outer.arrival()});
        fiber(at, at, outer.word());
      }
    }
    if (end) {
      PortCursor ahead = outer;
      if (payload) ahead.advance();
      if (!ahead.here()) return at;
      const bool fits = !ahead.is_payload() &&
                        (stop.done() ? ahead.stop().done()
                                     : ahead.stop().level + loops_ == stop.level);
      if (!fits) throw Disagreement{"an outer input ends elsewhere than the inner stream"};
      gates_.push_back({at, ahead.arrival()});
      if (payload) takes_.push_back(at);
      takes_.push_back(at);
      ahead.advance();
      outer = ahead;
    } else if (payload) {
      takes_.push_back(at);
      outer.advance();
    }
    k = at + 1;
  }
  if (k < inner.count) {
    if (!outer.here()) return k;
    if (!outer.is_payload()) throw Disagreement{"an outer input has no element where the inner stream has"};
    gates_.push_back({k, outer.arrival()});
    fiber(k, inner.count, outer.word());
  }
  return inner.count;
}

}  // namespace fuseflow::engine
