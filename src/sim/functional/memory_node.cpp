#include "sim/functional/memory_node.h"

#include <numeric>

namespace fuseflow::engine {

void MemoryNode::make_sides(std::initializer_list<size_t> arrays) {
  sides.resize(arrays.size() + 1);
  sides.back().out_lane = sides.front().out_lane;
  sides.back().now.out.resize(1);
  const auto make_lanes = [](std::vector<int>& lane_of, std::vector<Lane>& lanes, size_t count) {
    lane_of.resize(StepSource::kBursts + count);
    std::iota(lane_of.begin(), lane_of.end(), 0);
    lanes.resize(lane_of.size());
    for (size_t a = 0; a < count; ++a) lanes[StepSource::kBursts + a].always_listed = true;
  };
  size_t s = 0;
  for (const size_t count : arrays) {
    make_lanes(sides[s].out_lane, sides[s].now.out, count);
    ++s;
    make_lanes(sides[s].in_lane, sides[s].now.in, count);
  }
  bursts.resize(std::accumulate(arrays.begin(), arrays.end(), size_t{0}));
  last_burst_.assign(bursts.size(), kNoBurst);
  most_bursts_ = static_cast<uint32_t>(
      std::min<int64_t>(context_.machine.dram.outstanding, kMostBurstsOfStep));
}

void MemoryNode::insert_bursts(Steps& target, SideSteps step) {
  const auto insert = [&](std::vector<Lane>& lanes, const BurstCounts& counts) {
    for (size_t a = 0; a < counts.size(); ++a) {
      if (counts[a] == 0) continue;
      Places& at = lanes[StepSource::kBursts + a].at;
      at.insert(at.end(), counts[a], target.count);
    }
  };
  insert(target.in, step.uses);
  insert(target.out, step.requests);
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

uint32_t MemoryNode::fetch_others(size_t array, uint64_t address, uint64_t bytes) {
  const size_t before = bursts[array].size();
  for_bursts(address, bytes, [&](uint64_t burst) {
    if (burst == last_burst_[array]) return;
    last_burst_[array] = burst;
    bursts[array].push_back(burst);
  });
  return static_cast<uint32_t>(bursts[array].size() - before);
}

uint32_t MemoryNode::collect(size_t array, uint64_t address, uint64_t bytes) {
  const size_t before = bursts[array].size();
  for_bursts(address, bytes, [&](uint64_t burst) { bursts[array].push_back(burst); });
  return static_cast<uint32_t>(bursts[array].size() - before);
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

MemoryNode::BurstCounts MemoryNode::take_part(BurstCounts& counts) const {
  BurstCounts part{};
  for (size_t a = 0; a < counts.size(); ++a) {
    part[a] = std::min(counts[a], most_bursts_);
    counts[a] -= part[a];
  }
  return part;
}

MemoryNode::BurstCounts MemoryNode::take_full_part(BurstCounts& counts) const {
  BurstCounts part{};
  for (size_t a = 0; a < counts.size(); ++a) {
    part[a] = counts[a] > most_bursts_ ? most_bursts_ : 0;
    counts[a] -= part[a];
  }
  return part;
}

uint32_t MemoryNode::log_parts(size_t side, SideSteps step) {
  const auto steps_of = [this](const BurstCounts& counts) {
    const uint32_t n = std::max(counts[0], counts[1]);
    return n > most_bursts_ ? (n - 1) / most_bursts_ : 0;  // beside the step proper
  };
  BurstCounts uses = step.uses;
  BurstCounts requests = step.requests;
  const int64_t more = steps_of(uses) + steps_of(requests);
  int64_t left = more;
  const auto cost = [&] { return left-- > 0 ? 1 : std::max<int64_t>(1, interval_ - more); };
  while (too_many(uses)) add_part(side, {.uses = take_full_part(uses)}, cost());
  Steps& target = sides[side].now;
  const uint32_t proper = target.count;
  add_part(side, {.uses = uses, .requests = take_part(requests)}, cost());
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind == Lane::Kind::ranges) lane->add_range(proper, 1);
  }
  while (requests != BurstCounts{}) add_part(side, {.requests = take_part(requests)}, cost());
  return proper;
}

void MemoryNode::log_uses(size_t side, BurstCounts uses) {
  while (too_many(uses)) add_part(side, {.uses = take_full_part(uses)}, 1);
  add_part(side, {.uses = uses}, 1);
}

}  // namespace fuseflow::engine
