#include "sim/functional/memory_node.h"

namespace fuseflow::engine {

void MemoryNode::make_sides(size_t count) {
  sides.resize(count);
  sides.back().out_lane = sides.front().out_lane;
  for (size_t s = 0; s < count; ++s) {
    StepSource& side = sides[s];
    if (s > 0) {
      side.in_lane = {StepSource::kTokens, StepSource::kBursts};
      side.now.in.resize(2);
      side.now.in[StepSource::kBursts].always_listed = true;
    }
    side.now.out.resize(s + 1 < count ? 2 : 1);
    if (s + 1 < count) {
      side.out_lane = {StepSource::kTokens, StepSource::kBursts};
      side.now.out[StepSource::kBursts].always_listed = true;
    }
  }
  bursts.resize(count - 1);
  last_burst_.assign(count - 1, kNoBurst);
  most_bursts_ = static_cast<uint32_t>(
      std::min<int64_t>(context_.machine.dram.outstanding, kMostBurstsOfStep));
}

void MemoryNode::insert_bursts(Steps& target, SideSteps step) {
  const auto insert = [&](Lane& lane, uint32_t n) {
    lane.at.insert(lane.at.end(), n, target.count);
  };
  if (step.uses > 0) insert(target.in[StepSource::kBursts], step.uses);
  if (step.requests > 0) insert(target.out[StepSource::kBursts], step.requests);
}

void MemoryNode::log_any(size_t side, SideSteps steps) {
  if (steps.count == 0) return;
  if (too_many_bursts(steps)) {
    log_parts(side, steps);
    return;
  }
  Steps& target = sides[side].now;
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind == Lane::Kind::ranges) lane->add_range(target.count, steps.count);
  }
  insert_bursts(target, steps);
  target.add(steps.count, interval_);
}

uint32_t MemoryNode::fetch_others(size_t side, uint64_t address, uint64_t bytes) {
  const size_t before = bursts[side].size();
  for_bursts(address, bytes, [&](uint64_t burst) {
    if (burst == last_burst_[side]) return;
    last_burst_[side] = burst;
    bursts[side].push_back(burst);
  });
  return static_cast<uint32_t>(bursts[side].size() - before);
}

uint32_t MemoryNode::collect(size_t side, uint64_t address, uint64_t bytes) {
  const size_t before = bursts[side].size();
  for_bursts(address, bytes, [&](uint64_t burst) { bursts[side].push_back(burst); });
  return static_cast<uint32_t>(bursts[side].size() - before);
}

void MemoryNode::add_part(size_t side, SideSteps step, int64_t cost) {
  split_ = true;
  Steps& target = sides[side].now;
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind != Lane::Kind::each) continue;
    lane->kind = Lane::Kind::ranges;
    lane->add_range(0, target.count);
  }
  insert_bursts(target, step);
  target.add(1, cost);
}

uint32_t MemoryNode::log_parts(size_t side, SideSteps step) {
  const auto steps_of = [this](uint32_t n) {
    return n > most_bursts_ ? (n - 1) / most_bursts_ : 0;  // beside the step proper
  };
  uint32_t uses = step.uses;
  uint32_t requests = step.requests;
  const int64_t more = steps_of(uses) + steps_of(requests);
  int64_t left = more;
  const auto cost = [&] { return left-- > 0 ? 1 : std::max<int64_t>(1, interval_ - more); };
  for (; uses > most_bursts_; uses -= most_bursts_) add_part(side, {.uses = most_bursts_}, cost());
  Steps& target = sides[side].now;
  const uint32_t proper = target.count;
  add_part(side, {.uses = uses, .requests = std::min(requests, most_bursts_)}, cost());
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind == Lane::Kind::ranges) lane->add_range(proper, 1);
  }
  while (requests > most_bursts_) {
    requests -= most_bursts_;
    add_part(side, {.requests = std::min(requests, most_bursts_)}, cost());
  }
  return proper;
}

void MemoryNode::log_uses(size_t side, uint32_t uses) {
  for (; uses > most_bursts_; uses -= most_bursts_) add_part(side, {.uses = most_bursts_}, 1);
  add_part(side, {.uses = uses}, 1);
}

}  // namespace fuseflow::engine
