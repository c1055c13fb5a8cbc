// Where times pass between a component (component.h) and the nodes around it: as lines inside, as
// pieces of segments outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/functional/node.h"
#include "sim/timing/fifo.h"

namespace fuseflow::engine {

/// A port of a member whose tokens come from outside: when they were given.
class ArrivalFeed : public PortObserver {
 public:
  ArrivalFeed(OutputTimes& into, FedPeak& peak, int64_t latency)
      : into_(into), peak_(peak), latency_(latency) {}
  void arrive(Segment& segment) override;
  void take(const TimeRef&, const TimeRef&, uint32_t) override {}

 private:
  OutputTimes& into_;
  FedPeak& peak_;
  const int64_t latency_;
};

/// What a member has made and gives to nodes outside once its times are known.
class HeldTokens {
 public:
  /// `gives` by output of the node.
  HeldTokens(EngineNode& node, std::vector<OutputTimes*> gives);
  /// Whether any output's times are waited for.
  bool any() const { return std::find(wanted_.begin(), wanted_.end(), true) != wanted_.end(); }
  /// The batch that the node has just made.
  void hold(std::span<EngineNode::OutputSegment> given);
  /// Gives the batches whose times are known; whether there were any.
  bool give();
  /// Also gives the tokens with known times of batches that are not wholly known; whether there
  /// were any. Called only when no member can go on, since short pieces make consumers slow.
  bool give_parts();

 private:
  bool known(const std::vector<EngineNode::OutputSegment>& batch) const;
  void give_batch(std::vector<EngineNode::OutputSegment>& batch);
  void give_part(EngineNode::OutputSegment& given, uint32_t n);

  EngineNode& node_;
  std::vector<OutputTimes*> gives_;
  std::vector<bool> wanted_;        // by output: whether the times are waited for
  std::vector<TimesReader> given_;  // by output
  std::deque<std::vector<EngineNode::OutputSegment>> batches_;
};

}  // namespace fuseflow::engine
