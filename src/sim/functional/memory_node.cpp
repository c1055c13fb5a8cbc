#include "sim/functional/memory_node.h"

namespace fuseflow::engine {

void MemoryNode::make_sides(size_t count) {
  sides.resize(count);
  sides.back().out_lane = sides.front().out_lane;
  for (size_t s = 0; s < count; ++s) {
    StepSource& side = sides[s];
    if (s > 0) {
      side.in_lane = {0, 1};
      side.now.in.resize(2);
      side.now.in[1].always_listed = true;
    }
    side.now.out.resize(s + 1 < count ? 2 : 1);
    if (s + 1 < count) {
      side.out_lane = {0, 1};
      side.now.out[1].always_listed = true;
    }
  }
  bursts.resize(count - 1);
  last_burst_.assign(count - 1, kNoBurst);
  most_bursts_ = static_cast<uint32_t>(
      std::min<int64_t>(context_.machine.dram.outstanding, kMostBurstsOfStep));
}

void MemoryNode::log_any(size_t side, uint32_t count, uint32_t taken, uint32_t given) {
  if (count == 0) return;
  if (too_many_bursts(taken, given)) {
    log_parts(side, taken, given);
    return;
  }
  Steps& target = sides[side].now;
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind == Lane::Kind::ranges) lane->add_range(target.count, count);
  }
  if (taken > 0) target.in[1].at.insert(target.in[1].at.end(), taken, target.count);
  if (given > 0) target.out[1].at.insert(target.out[1].at.end(), given, target.count);
  target.add(count, interval_);
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

void MemoryNode::add_part(size_t side, uint32_t taken, uint32_t given, int64_t cost) {
  split_ = true;
  Steps& target = sides[side].now;
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind != Lane::Kind::each) continue;
    lane->kind = Lane::Kind::ranges;
    lane->add_range(0, target.count);
  }
  if (taken > 0) target.in[1].at.insert(target.in[1].at.end(), taken, target.count);
  if (given > 0) target.out[1].at.insert(target.out[1].at.end(), given, target.count);
  target.add(1, cost);
}

uint32_t MemoryNode::log_parts(size_t side, uint32_t taken, uint32_t given) {
  const auto steps_of = [this](uint32_t n) {
    return n > most_bursts_ ? (n - 1) / most_bursts_ : 0;  // beside the step proper
  };
  const int64_t more = steps_of(taken) + steps_of(given);
  int64_t left = more;
  const auto cost = [&] { return left-- > 0 ? 1 : std::max<int64_t>(1, interval_ - more); };
  for (; taken > most_bursts_; taken -= most_bursts_) add_part(side, most_bursts_, 0, cost());
  Steps& target = sides[side].now;
  const uint32_t proper = target.count;
  add_part(side, taken, std::min(given, most_bursts_), cost());
  for (Lane* lane : {&target.in.front(), &target.out.front()}) {
    if (lane->kind == Lane::Kind::ranges) lane->add_range(proper, 1);
  }
  while (given > most_bursts_) {
    given -= most_bursts_;
    add_part(side, 0, std::min(given, most_bursts_), cost());
  }
  return proper;
}

void MemoryNode::log_uses(size_t side, uint32_t taken) {
  for (; taken > most_bursts_; taken -= most_bursts_) add_part(side, most_bursts_, 0, 1);
  add_part(side, taken, 0, 1);
}

}  // namespace fuseflow::engine
