#include "sim/timing/batch_clock.h"

#include <algorithm>

#include "sim/timing/step_costs.h"
#include "sim/timing/step_kernels.h"

namespace fuseflow::engine {

// --- what the steps wait for ---

void BatchClock::collect(EngineNode& node) {
  const StepSource& source = node.sides.front();
  const Steps& steps = source.now;
  regular_.clear();
  ranges_ = std::any_of(steps.in.begin(), steps.in.end(),
                        [](const Lane& lane) { return lane.kind == Lane::Kind::ranges; });
  gates_.clear();
  dense_ = false;
  next_gate_ = 0;
  for (size_t i = 0; i < node.ports.size(); ++i) {
    if (node.ports[i] == nullptr || source.in_lane[i] < 0) continue;
    const Port& port = *node.ports[i];
    const Lane& lane = steps.in[source.in_lane[i]];
    if (lane.kind == Lane::Kind::listed) {
      add_gates(lane, steps, port);
    } else if (lane.tokens(steps.count) > 0) {
      regular_.push_back({&lane, port.arrivals()});
    }
  }
  add_rows(node, steps);
}

/// The single steps that wait for tokens of a port, if any can.
void BatchClock::add_gates(const Lane& lane, const Steps& steps, const Port& port) {
  const uint32_t n = lane.needed(steps.count);
  if (n == 0 || port.arrival(n - 1) <= pace_.free) return;
  ArrivalCursor arrivals(port);
  if (Waits::dense(n, steps.count) && at_interval(steps) && !ranges_) {
    start_bounds(steps.count);
    for (uint32_t j = 0; j < n; ++j) {
      int64_t& bound = bounds_[lane.need_at(j)];
      bound = std::max(bound, arrivals.next());
    }
    return;
  }
  const size_t first = gates_.size();
  for (uint32_t j = 0; j < n; ++j) gates_.put(lane.need_at(j), arrivals.next());
  gates_.merge(first);
}

/// Loads of what a phase that started together writes.
void BatchClock::add_rows(EngineNode& node, const Steps& steps) {
  for (size_t g = 0; g < node.row_gates.size(); ++g) {
    const size_t first = gates_.size();
    for (const uint32_t step : steps.in[node.first_row_lane + g].at) {
      gates_.put(step, node.row_gates[g].next_arrival());
    }
    gates_.merge(first);
  }
}

void BatchClock::start_bounds(uint32_t n) {
  if (dense_) return;
  dense_ = true;
  bounds_.assign(n, kLongAgo);
}

// --- when they happen ---

/// Every step costs the node's interval.
bool BatchClock::at_interval(const Steps& steps) const {
  return steps.stages.empty() && steps.cost == pace_.interval;
}

TimeRef BatchClock::step_times_of(const Steps& steps) {
  if (dense_) return solve_dense(steps.count);
  if (!at_interval(steps) || ranges_) return solve_sections(steps);
  section(0, steps.count);
  return step_times(pace_, refs_, steps.count);
}

/// To what single steps wait for, and the tokens of the inputs.
void BatchClock::raise_bounds(uint32_t n) {
  for (const auto& [step, time] : gates_) bounds_[step] = std::max(bounds_[step], time);
  for (const Regular& input : regular_) {
    TimeCursor cursor(input.arrivals);
    uint32_t token = 0;
    const auto raise = [&](uint32_t first, uint32_t count) {
      for (uint32_t k = first; k < first + count; ++k) {
        bounds_[k] = std::max(bounds_[k], cursor.at(token++));
      }
    };
    if (input.lane->kind == Lane::Kind::each) raise(0, n);
    for (const StepRange& range : input.lane->ranges) raise(range.first, range.count);
  }
}

/// Every step has a bound.
TimeRef BatchClock::solve_dense(uint32_t n) {
  raise_bounds(n);
  TimesBuilder times(pace_.interval);
  int64_t* out = times.reserve(n);
  loops::solve(bounds_.data(), n, pace_.free, pace_.interval, out);
  pace_.stepped_at(out[n - 1]);
  times.commit(n);
  return {times.finish(), 0, 0};
}

/// Stage by stage, and range by range of the inputs.
TimeRef BatchClock::solve_sections(const Steps& steps) {
  int64_t gap = INT64_MAX;
  steps.for_stages([&](const Stage& stage) { gap = std::min({gap, stage.cost, stage.last_cost}); });
  TimesBuilder all(gap);
  const int64_t interval = pace_.interval;
  uint32_t k = 0;
  steps.for_stages([&](const Stage& stage) {
    const uint32_t end = k + stage.count;
    pace_.interval = stage.cost;
    while (k < end) {
      const uint32_t until = section(k, end);
      append_times(all, step_times(pace_, refs_, until - k), until - k);
      k = until;
    }
    if (stage.count > 0) pace_.free = pace_.last + stage.last_cost;
  });
  pace_.interval = interval;
  return {all.finish(), 0, 0};
}

/// Finds what steps from `first` on wait for, up to where that changes, `end` at most.
uint32_t BatchClock::section(uint32_t first, uint32_t end) {
  refs_.clear();
  for (Regular& input : regular_) {
    if (input.lane->kind == Lane::Kind::each) continue;
    const auto& ranges = input.lane->ranges;
    while (input.range < ranges.size() &&
           ranges[input.range].first + ranges[input.range].count <= first) {
      ++input.range;
    }
    if (input.range == ranges.size()) continue;
    const StepRange& range = ranges[input.range];
    const uint32_t change = first < range.first ? range.first : range.first + range.count;
    end = std::min(end, change);
  }
  for (Regular& input : regular_) {
    if (input.lane->kind == Lane::Kind::each) {
      refs_.push_back(input.arrivals.from(first));
      continue;
    }
    const auto& ranges = input.lane->ranges;
    if (input.range == ranges.size() || first < ranges[input.range].first) continue;
    refs_.push_back(input.arrivals.from(input.tokens));
    input.tokens += end - first;
  }
  add_section_gates(first, end);
  return end;
}

/// Those before the section are after its first step.
void BatchClock::add_section_gates(uint32_t first, uint32_t end) {
  if (next_gate_ == gates_.size() || gates_[next_gate_].step >= end) return;
  section_gates_.clear();
  for (; next_gate_ < gates_.size() && gates_[next_gate_].step < end; ++next_gate_) {
    const auto& [step, time] = gates_[next_gate_];
    section_gates_.put_for_all_later(step - first, time);
  }
  TimeRef ref;
  if (gate_arrivals(section_gates_, end - first, pace_.free, refs_, ref)) {
    refs_.push_back(std::move(ref));
  }
}

namespace {

/// When the tokens of a lane are taken, or given: its steps out of the times of all.
TimeRef token_times(const TimeRef& steps, const Lane& lane) {
  if (lane.kind == Lane::Kind::each) return steps;
  if (lane.kind == Lane::Kind::listed) return sample(steps, lane.at);
  if (lane.ranges.size() == 1) return steps.from(lane.ranges.front().first);
  TimesBuilder times(steps.times->gap);
  for (const StepRange& range : lane.ranges) {
    append_times(times, steps.from(range.first), range.count);
  }
  return {times.finish(), 0, 0};
}

}  // namespace

// --- what they do ---

void BatchClock::time_batch(EngineNode& node) {
  const StepSource& source = node.sides.front();
  const Steps& steps = source.now;
  check_costs(steps);
  collect(node);
  const TimeRef times = step_times_of(steps);
  node.count_steps(steps, times.at(0), pace_.last);
  if (activity != nullptr) note_busy(*activity, steps, times);
  lane_times_.assign(steps.in.size(), {});
  for (size_t i = 0; i < node.ports.size(); ++i) {
    if (node.ports[i] == nullptr || source.in_lane[i] < 0) continue;
    const auto l = static_cast<size_t>(source.in_lane[i]);
    const uint32_t n = steps.in[l].tokens(steps.count);
    if (n == 0) continue;
    if (!lane_times_[l].times) lane_times_[l] = token_times(times, steps.in[l]);
    node.ports[i]->take(n, lane_times_[l]);
  }
  lane_times_.assign(steps.out.size(), {});
  for (EngineNode::OutputSegment& given : node.given()) {
    const auto l = static_cast<size_t>(source.out_lane[given.output]);
    if (!lane_times_[l].times) lane_times_[l] = token_times(times, steps.out[l]);
    node.outputs[given.output]->give(std::move(given.segment), lane_times_[l]);
  }
  if (node.collects_rows()) note_rows(node, times);
  if (pace_.free > kLatest) throw TimeOverflow{};
}

/// When rows are complete for those that load them.
void BatchClock::note_rows(EngineNode& node, const TimeRef& times) {
  TimeCursor cursor(times);
  for (const uint32_t step : node.sides.back().now.out.front().at) {
    node.written_rows.arrives.push_back(cursor.at(step) + node.latency());
  }
}

void BatchClock::note_busy(Activity& activity, const Steps& steps, const TimeRef& times) {
  TimeCursor cursor(times);
  uint32_t k = 0;
  steps.for_stages([&](const Stage& stage) {
    for (uint32_t left = stage.count; left > 0; --left, ++k) {
      const int64_t cost = left == 1 ? stage.last_cost : stage.cost;
      if (cost > 0) activity.add(cursor.at(k), cursor.at(k) + cost - 1);
    }
  });
}

}  // namespace fuseflow::engine
