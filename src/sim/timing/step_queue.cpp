#include "sim/timing/step_queue.h"

#include <algorithm>
#include <utility>

namespace fuseflow::engine {

uint32_t LaneView::taken_before(uint32_t first, uint32_t step) {
  if (lane->kind == Lane::Kind::each) return step - first;
  if (lane->kind == Lane::Kind::listed) return before(step);
  uint32_t sum = 0;
  for (size_t r = range; r < lane->ranges.size() && lane->ranges[r].first < step; ++r) {
    const StepRange& at = lane->ranges[r];
    sum += std::min(step, at.first + at.count) - std::max(first, at.first);
  }
  return sum;
}

void LaneView::move_to(uint32_t step) {
  switch (lane->kind) {
    case Lane::Kind::each:
      next = step;
      return;
    case Lane::Kind::listed:
      next += count;
      count = 0;
      return;
    case Lane::Kind::ranges:
      for (; range < lane->ranges.size(); ++range) {
        const StepRange& r = lane->ranges[range];
        if (r.first + r.count > step) return;
      }
  }
}

void StepQueue::add(Steps batch) {
  bytes_ += batch.bytes();
  batches_.push_back(std::move(batch));
  if (batches_.size() == 1) open();
}

/// At the first step of the first batch.
void StepQueue::open() {
  step_ = 0;
  stage_ = 0;
  const Steps& steps = batches_.front();
  stage_end_ = steps.stages.empty() ? steps.count : steps.stages.front().count;
  in_.clear();
  out_.clear();
  for (const Lane& lane : steps.in) in_.emplace_back(lane);
  for (const Lane& lane : steps.out) out_.emplace_back(lane);
  ranges_ = false;
  for (const auto* views : {&in_, &out_}) {
    for (const LaneView& view : *views) ranges_ = ranges_ || (!view.each && !view.listed);
  }
}

uint32_t StepQueue::even_up_to(uint32_t end) {
  if (!ranges_) return end;
  for (auto* views : {&in_, &out_}) {
    for (LaneView& view : *views) view.look(step_, end);
  }
  return end;
}

void StepQueue::count_tokens(uint32_t n) {
  for (auto* views : {&in_, &out_}) {
    for (LaneView& view : *views) {
      if (view.listed) view.count = view.before(step_ + n);
    }
  }
}

void StepQueue::drop(uint32_t n) {
  if (n == 0) return;
  step_ += n;
  const Steps& steps = batches_.front();
  if (step_ == steps.count) {
    bytes_ -= steps.bytes();
    batches_.pop_front();
    if (!batches_.empty()) open();
    return;
  }
  while (step_ >= stage_end_) stage_end_ += steps.stages[++stage_].count;
  for (LaneView& lane : in_) lane.move_to(step_);
  for (LaneView& lane : out_) lane.move_to(step_);
}

int64_t StepQueue::costs(uint32_t n, int64_t* each) {
  const Steps& steps = batches_.front();
  if (steps.stages.empty()) return steps.cost;
  size_t stage = stage_;
  uint32_t end = stage_end_;
  const Stage& here = steps.stages[stage];
  if (step_ + n < end || (step_ + n == end && here.cost == here.last_cost)) return here.cost;
  for (uint32_t k = 0; k < n;) {
    const Stage& s = steps.stages[stage];
    const uint32_t until = std::min(n, end - step_);
    std::fill(each + k, each + until, s.cost);
    if (step_ + until == end) {
      each[until - 1] = s.last_cost;
      if (++stage < steps.stages.size()) end += steps.stages[stage].count;
    }
    k = until;
  }
  return -1;
}

// --- looking ahead ---

int64_t StepQueue::needed_next(size_t lane) {
  LaneView& view = in_[lane];
  return view.listed ? view.needed_before(step_ + 1) : view.taken_before(step_, step_ + 1);
}

int64_t StepQueue::given_next(size_t lane) {
  return out_[lane].taken_before(step_, step_ + 1);
}

}  // namespace fuseflow::engine
