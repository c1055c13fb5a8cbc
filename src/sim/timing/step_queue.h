// The steps of a node that are known and not done yet, batch by batch, and where each lane is in
// them. No times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/data/steps.h"

namespace fuseflow::engine {

/// A lane of the batch at hand, and how many of its tokens are done.
struct LaneView {
  const Lane* lane = nullptr;
  uint32_t next = 0;  ///< token of the batch
  size_t range = 0;   ///< the first that has not ended
  bool each = false;  ///< each of the next steps takes one
  bool listed = false;
  uint32_t count = 0;    ///< listed: tokens of the steps before `counted`
  uint32_t counted = 0;  ///< a step

  explicit LaneView(const Lane& of)
      : lane(&of), each(of.kind == Lane::Kind::each), listed(of.kind == Lane::Kind::listed) {}
  /// Ranges: finds whether steps from `first` on take one each, and up to which step that holds.
  void look(uint32_t first, uint32_t& end) {
    if (lane->kind != Lane::Kind::ranges) return;
    each = false;
    if (range == lane->ranges.size()) return;
    const StepRange& r = lane->ranges[range];
    each = first >= r.first;
    end = std::min(end, each ? r.first + r.count : r.first);
  }
  /// Listed: tokens taken before the step, of those not taken yet.
  uint32_t before(uint32_t step) {
    if (step != counted) count = Lane::before(lane->at, next, step);
    counted = step;
    return count;
  }
  /// Listed: tokens that steps before `step`, a later one than the next, need; those not taken yet.
  uint32_t needed_before(uint32_t step) {
    if (!lane->heads) {
      return lane->need.empty() ? before(step) : Lane::before(lane->need, next, step);
    }
    // The head after the last one taken, unless that is taken by the last step.
    const uint32_t taken = before(step);
    return taken > 0 && lane->at[next + taken - 1] + 1 == step ? taken : taken + 1;
  }
  /// Tokens taken in the steps from `first`, the next one, to before `step`.
  uint32_t taken_before(uint32_t first, uint32_t step);
  /// To after the steps before `step`.
  void move_to(uint32_t step);
};

class StepQueue {
 public:
  void add(Steps batch);
  bool empty() const { return batches_.empty(); }
  size_t bytes() const { return bytes_; }
  const Steps& batch() const { return batches_.front(); }
  uint32_t step() const { return step_; }  ///< the next one of the batch
  LaneView& in(size_t lane) { return in_[lane]; }
  LaneView& out(size_t lane) { return out_[lane]; }
  /// Up to which step all lanes go on as they do now, `end` at most.
  uint32_t even_up_to(uint32_t end);
  /// Counts the tokens of the next n steps, lane by lane.
  void count_tokens(uint32_t n);
  /// n steps of the batch, whose tokens were counted, are done.
  void drop(uint32_t n);
  /// Writes the costs of the next n steps, or returns the cost if it is the same for all.
  int64_t costs(uint32_t n, int64_t* each);

  /// Tokens of an input lane that the next step needs.
  int64_t needed_next(size_t lane);
  /// Tokens of an output lane that the next step gives.
  int64_t given_next(size_t lane);

 private:
  void open();

  std::deque<Steps> batches_;
  size_t bytes_ = 0;  // of those
  uint32_t step_ = 0;
  bool ranges_ = false;  // of the batch: some lane takes in ranges
  std::vector<LaneView> in_;
  std::vector<LaneView> out_;
  size_t stage_ = 0;        // of the batch: that of the next step
  uint32_t stage_end_ = 0;  // the step after it
};

}  // namespace fuseflow::engine
