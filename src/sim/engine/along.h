// Streams that go along with an inner one (ir-spec/timing.md "outer"), and steps that wait at a few
// places only: which tokens they wait for, and when those are taken.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/engine/port.h"
#include "sim/engine/steps.h"

namespace fuseflow::engine {

/// From step `at` of a batch on, a token is needed that arrives at `time`.
struct Gate {
  uint32_t at;
  int64_t time;
};

/// Adds one; steps are in order, so a gate behind a later one is as late.
inline void add_gate(std::vector<Gate>& gates, uint32_t at, int64_t time) {
  gates.push_back({at, gates.empty() ? time : std::max(gates.back().time, time)});
}

/// The gates (ascending in step and time) as arrival times of n steps; false if no gate can delay a
/// step (all are passed before `earliest`, or before the arrivals of `beside`, whose tokens the
/// same steps need).
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
  /// Outer tokens that the last walk has read, at most.
  uint32_t tokens() const { return static_cast<uint32_t>(takes_.size()) + 1; }
  /// What the step of the s-th stop of the batch takes: bit 0 the payload, bit 1 a stop or done.
  uint32_t taken_at(size_t s) const { return flags_[s]; }
  /// Takes what the first n inner tokens take, at the times of their steps.
  void take(const TimeRef& steps, uint32_t n);

 private:
  Port* port_;
  int loops_;
  std::vector<Gate> gates_;
  std::vector<uint32_t> takes_;  ///< by outer token: the inner token whose step takes it
  std::vector<uint8_t> flags_;   ///< by stop of the batch: see taken_at
};

/// Logs the steps of a node whose inputs are `like` (of the inner space) and `along` (outer ones).
/// Codes: bit 0: a stop; two bits for each outer input; the rest is the node's.
class StepCodes {
 public:
  static constexpr uint32_t kNothingTaken = 1U << 23;  ///< a step that only gives
  static constexpr int kOwnShift = 24;

  StepCodes(std::vector<size_t> like, std::vector<size_t> along_ports)
      : like_(std::move(like)), along_ports_(std::move(along_ports)) {}

  static uint32_t elements() { return 0; }
  static uint32_t stop(std::span<const Along> along, size_t s) {
    uint32_t code = 1;
    for (size_t a = 0; a < along.size(); ++a) code |= along[a].taken_at(s) << (1 + 2 * a);
    return code;
  }
  void needs(uint32_t code, StepType& type) const {
    if ((code & kNothingTaken) != 0) return;
    for (const size_t port : like_) type.need(port, 1, 1);
    for (size_t a = 0; a < along_ports_.size(); ++a) {
      const uint32_t flags = (code >> (1 + 2 * a)) & 3U;
      const int taken = static_cast<int>((flags & 1U) + (flags >> 1));
      if ((code & 1U) == 0) {
        type.need(along_ports_[a], 1, 0);
      } else {
        type.need(along_ports_[a], taken, taken);
      }
    }
  }

 private:
  std::vector<size_t> like_;
  std::vector<size_t> along_ports_;
};

/// What walk() throws.
struct Disagreement {
  const char* what;
};

template <typename Fiber>
uint32_t Along::walk(const Batch& inner, Fiber&& fiber) {
  gates_.clear();
  takes_.clear();
  flags_.clear();
  PortCursor outer(*port_);
  uint32_t k = 0;
  for (const Stop& stop : inner.stops) {
    const uint32_t at = inner.at(stop);
    if (k < at) {
      if (!outer.here()) return k;
      if (!outer.is_payload())
        throw Disagreement{"an outer input has no element where the inner stream has"};
      gates_.push_back({k, outer.arrival()});
      fiber(k, at, outer.word());
    }
    const bool payload = !stop.done() && stop.level >= loops_ - 1 && stop.closes(loops_ - 1);
    const bool end = stop.done() || stop.level >= loops_;
    if (payload) {
      if (!outer.here()) return at;
      if (!outer.is_payload())
        throw Disagreement{"an outer input has no element where the inner stream has"};
      if (k == at) {  // an empty fiber
        gates_.push_back({at, outer.arrival()});
        fiber(at, at, outer.word());
      }
    }
    if (end) {
      PortCursor ahead = outer;
      if (payload) ahead.advance();
      if (!ahead.here()) return at;
      const bool fits =
          !ahead.is_payload() &&
          (stop.done() ? ahead.stop().done() : ahead.stop().level + loops_ == stop.level);
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
    flags_.push_back(static_cast<uint8_t>((payload ? 1 : 0) | (end ? 2 : 0)));
    k = at + 1;
  }
  if (k < inner.count) {
    if (!outer.here()) return k;
    if (!outer.is_payload())
      throw Disagreement{"an outer input has no element where the inner stream has"};
    gates_.push_back({k, outer.arrival()});
    fiber(k, inner.count, outer.word());
  }
  return inner.count;
}

}  // namespace fuseflow::engine
