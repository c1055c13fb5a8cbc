// Which steps of an accumulator take its tokens and give its entries: flushes, outer stops in steps
// of their own, two stores (ir-spec/nodes.md). What is stored is in accumulate.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/data/steps.h"
#include "sim/functional/tokens.h"

namespace fuseflow::engine {

/// What a machine says of an accumulator's steps.
struct AccumulateRules {
  size_t order = 1;
  int64_t interval = 1;
  int64_t drain_interval = 1;
  bool outer_stops_take_steps = false;
  bool double_buffered = false;
};

class AccumulateSteps {
 public:
  /// Makes the sides' lanes: one that takes and gives, or with two stores one that takes and one
  /// that gives. `depths`: loops of the inputs, the value last.
  AccumulateSteps(std::vector<StepSource>& sides, const AccumulateRules& rules,
                  std::vector<int> depths);

  /// The lane of an input, on the side that takes.
  Lane& in(size_t input) { return gather().in[sides_->front().in_lane[input]]; }
  void start_batch();
  /// A stop that flushes nothing.
  void pass(const Stop& stop, uint32_t token);
  /// A stop (or done) that does: the first step of the flush, on the side that gives.
  uint32_t flush(const Stop& stop, uint32_t token);
  /// The flush has so many steps after the first.
  void flushed(uint32_t more);
  /// After the last stop: the batch has n inner tokens.
  void end_batch(uint32_t n);

 private:
  class Walk;

  Steps& gather() { return sides_->front().now; }
  Steps& drain() { return sides_->back().now; }
  bool two() const { return rules_.double_buffered; }
  uint32_t outer_stops(const Stop& stop, uint32_t token);
  void take_up_to(uint32_t token);
  void shift(size_t input);

  std::vector<StepSource>* sides_;
  const AccumulateRules rules_;
  const std::vector<int> depths_;
  const size_t value_;
  // of the batch at hand
  uint32_t from_ = 0;     // inner tokens before it have their steps
  uint32_t pending_ = 0;  // steps that the stop at hand takes
  std::vector<std::pair<uint32_t, uint32_t>>
      shifts_;  // from token on: steps before it, beyond tokens
  struct MultiStepStop {
    uint32_t token;
    uint32_t level;
    uint32_t lowest;  ///< boundary that has a step; each has, up to `last`
    uint32_t last;
  };
  std::vector<MultiStepStop> multi_step_stops_;  // those of several steps
};

}  // namespace fuseflow::engine
