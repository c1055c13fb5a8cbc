// Times of the steps of a node that only its producers delay: batch by batch, as soon as the node
// has made one. Keeps nothing but the node's pace.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/activity.h"
#include "sim/data/steps.h"
#include "sim/data/times.h"
#include "sim/functional/node.h"
#include "sim/timing/step_times.h"

namespace fuseflow::engine {

class BatchClock : public NodeClock {
 public:
  Activity* activity = nullptr;  ///< where to note busy cycles, if anywhere

  BatchClock(int64_t interval, int64_t start) {
    pace_.free = start;
    pace_.interval = interval;
  }
  /// The batch that the node has just made: takes its tokens, and gives on what it has made.
  void time_batch(EngineNode& node) override;

 private:
  /// A port that takes a token a step, in all steps or in ranges of them.
  struct Regular {
    const Lane* lane;
    TimeRef arrivals;     ///< of the tokens not taken yet
    size_t range = 0;     ///< the next one
    uint32_t tokens = 0;  ///< taken in the ranges before
  };

  void collect(EngineNode& node);
  void add_gates(const Lane& lane, const Steps& steps, const Port& port);
  void add_rows(EngineNode& node, const Steps& steps);
  void start_bounds(uint32_t n);
  bool at_interval(const Steps& steps) const;
  TimeRef step_times_of(const Steps& steps);
  TimeRef solve_dense(uint32_t n);
  void raise_bounds(uint32_t n);
  TimeRef solve_sections(const Steps& steps);
  uint32_t section(uint32_t first, uint32_t end);
  void add_section_gates(uint32_t first, uint32_t end);
  static void note_rows(EngineNode& node, const TimeRef& times);
  static void note_busy(Activity& activity, const Steps& steps, const TimeRef& times);

  Pace pace_;
  // of the batch at hand
  std::vector<Regular> regular_;
  Waits gates_;  // single steps
  size_t next_gate_ = 0;
  Waits section_gates_;
  bool ranges_ = false;  // some input takes in ranges
  bool dense_ = false;   // so many wait that every step has a bound
  std::vector<int64_t> bounds_;
  std::vector<TimeRef> refs_;
  std::vector<TimeRef> lane_times_;  // by lane
};

}  // namespace fuseflow::engine
