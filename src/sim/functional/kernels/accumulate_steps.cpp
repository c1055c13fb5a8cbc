#include "sim/functional/kernels/accumulate_steps.h"

#include <algorithm>

namespace fuseflow::engine {

AccumulateSteps::AccumulateSteps(std::vector<StepSource>& sides, const AccumulateRules& rules,
                                 std::vector<int> depths)
    : sides_(&sides), rules_(rules), depths_(std::move(depths)), value_(depths_.size() - 1) {
  const size_t outputs = rules_.order + 1;
  sides.resize(two() ? 2 : 1);
  sides.front().own_lanes(value_ + 1, two() ? 0 : outputs);
  for (size_t i = 0; i < value_; ++i) {
    if (depths_[i] == depths_[value_]) sides.front().in_lane[i] = static_cast<int>(value_);
  }
  if (!two()) return;
  // Between them a token for each store that is handed over.
  sides.front().one_output();
  sides.back().own_lanes(1, outputs);
  sides.front().now.out[0].always_listed = true;
  sides.back().now.in[0].always_listed = true;
}

void AccumulateSteps::start_batch() {
  from_ = 0;
  shifts_.clear();
  multi_step_stops_.clear();
  in(value_).kind = Lane::Kind::ranges;
}

/// On a machine that takes outer stops apart: a step for each boundary of the stop from the lowest
/// that closes an element's fiber up to that of the loop that ends. Returns how many are after the
/// first, which takes the inner stop.
uint32_t AccumulateSteps::outer_stops(const Stop& stop, uint32_t token) {
  if (!rules_.outer_stops_take_steps || stop.done()) return 0;
  const auto last = static_cast<uint32_t>(std::min<size_t>(stop.level, rules_.order));
  uint32_t lowest = 0;
  while (lowest < last && !stop.closes(static_cast<int>(lowest))) ++lowest;
  if (last > lowest) multi_step_stops_.push_back({token, stop.level, lowest, last});
  return last - lowest;
}

void AccumulateSteps::take_up_to(uint32_t token) {
  in(value_).add_range(gather().count, token + 1 - from_);
}

void AccumulateSteps::pass(const Stop& stop, uint32_t token) {
  const uint32_t more = outer_stops(stop, token);
  if (more == 0) return;
  take_up_to(token);
  gather().add(token + 1 - from_ + more, rules_.interval);
  from_ = token + 1;
  shifts_.push_back({from_, gather().count - from_});
}

uint32_t AccumulateSteps::flush(const Stop& stop, uint32_t token) {
  const uint32_t more = outer_stops(stop, token);
  take_up_to(token);
  pending_ = token + 1 - from_ + more;
  from_ = token + 1;
  if (!two()) return gather().count + pending_ - 1;
  gather().add(pending_, rules_.interval);
  gather().out[0].at.push_back(gather().count - 1);
  drain().in[0].need.push_back(drain().count);
  return drain().count;
}

void AccumulateSteps::flushed(uint32_t more) {
  if (two()) {
    drain().add(more + 1, rules_.drain_interval, rules_.interval);
    drain().in[0].at.push_back(drain().count - 1);
  } else {
    gather().add(pending_, rules_.interval, more > 0 ? rules_.drain_interval : rules_.interval);
    gather().add(more, rules_.drain_interval, rules_.interval);
  }
  shifts_.push_back({from_, gather().count - from_});
}

void AccumulateSteps::end_batch(uint32_t n) {
  in(value_).add_range(gather().count, n - from_);
  gather().add(n - from_, rules_.interval);
  if (gather().count == n) in(value_).reset();
  for (size_t i = 0; i < value_; ++i) {
    if (depths_[i] != depths_[value_]) shift(i);
  }
}

/// From inner tokens of the batch, in order, to steps.
class AccumulateSteps::Walk {
 public:
  Walk(const AccumulateSteps& steps, uint32_t loops) : steps_(&steps), loops_(loops) {}
  /// The first step of a token.
  uint32_t step_of(uint32_t token) {
    const auto& shifts = steps_->shifts_;
    while (s_ < shifts.size() && shifts[s_].first <= token) shift_ = shifts[s_++].second;
    return token + shift_;
  }
  /// The step that takes the j-th token of an outer stream, which goes with an inner one; a payload
  /// may be followed by a stop that goes with the same.
  uint32_t taking(const Places& at, size_t j) {
    const auto& stops = steps_->multi_step_stops_;
    while (a_ < stops.size() && stops[a_].token < at[j]) ++a_;
    const uint32_t first = step_of(at[j]);
    if (a_ == stops.size() || stops[a_].token != at[j]) return first;
    const MultiStepStop& stop = stops[a_];
    const bool stop_follows = j + 1 < at.size() && at[j + 1] == at[j];
    const bool payload = stop_follows || stop.level < loops_;
    const uint32_t boundary = payload ? loops_ - 1 : std::min(loops_, stop.last);
    return first + std::max(boundary, stop.lowest) - stop.lowest;
  }

 private:
  const AccumulateSteps* steps_;
  uint32_t loops_;
  size_t s_ = 0;
  size_t a_ = 0;
  uint32_t shift_ = 0;
};

/// The outer lanes count inner tokens: the steps of flushes and of outer stops lie between these.
void AccumulateSteps::shift(size_t input) {
  Lane& lane = in(input);
  const auto loops = static_cast<uint32_t>(depths_[value_] - depths_[input]);
  Walk needs(*this, loops);
  for (size_t j = 0; j < lane.need.size(); ++j) {
    const bool taken = j < lane.at.size() && lane.need[j] == lane.at[j];
    lane.need[j] = taken ? needs.taking(lane.at, j) : needs.step_of(lane.need[j]);
  }
  Walk takes(*this, loops);
  for (size_t j = 0; j < lane.at.size(); ++j) lane.at[j] = takes.taking(lane.at, j);
}

}  // namespace fuseflow::engine
