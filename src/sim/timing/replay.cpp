#include "sim/timing/replay.h"

#include "sim/timing/step_costs.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewSteps = 8;     // least number tried, even just before the horizon
constexpr int64_t kSomeSteps = 128;  // least number tried otherwise, even after a run of few
}  // namespace

void NodeReplay::fetch(StepSource& source) {
  if (!connected_) connect(source);
  check_costs(source.now);
  if (source.now.count > 0) queue_.add(source.take_batch());
}

void NodeReplay::connect(const StepSource& source) {
  connected_ = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    ports_.in.push_back({inputs[i], static_cast<size_t>(source.in_lane[i])});
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o] == nullptr || o >= source.out_lane.size()) continue;
    const auto lane = static_cast<size_t>(source.out_lane[o]);
    ports_.out.push_back({outputs[o], lane});
    for (Fifo* fifo : outputs[o]->readers) {
      if (fifo->depth > 0) ports_.credits.push_back({fifo, lane});
    }
  }
}

/// How many steps to try: more could rarely be done.
int64_t NodeReplay::most_steps(int64_t horizon) const {
  const int64_t n = std::min(kMostSteps, 4 * done_last_ + kSomeSteps);
  return horizon - free_at() < n ? std::max(kFewSteps, horizon - free_at() + 1) : n;
}

bool NodeReplay::advance(StepSolver& solver, int64_t horizon) {
  const int64_t before = progress_.steps;
  state_ = StepEnd::none;
  while (!queue_.empty() && state_ == StepEnd::none) {
    done_last_ = solver.run(queue_, ports_, most_steps(horizon), horizon, progress_, *counting);
    state_ = solver.end();
    if (progress_.free_at > latest_) throw TimeOverflow{};
  }
  if (state_ == StepEnd::waits) {
    blocker_ = solver.blocker();
    blocker_count_ =
        blocker_.credit ? queue_.given_next(blocker_.lane) : queue_.needed_next(blocker_.lane);
  }
  return progress_.steps != before;
}

void NodeReplay::fill(NodeStats& stats) const {
  stats.busy = progress_.busy;
  stats.blocked = progress_.blocked;
  stats.memory = progress_.memory;
  stats.steps = progress_.steps;
  stats.first_step = progress_.first;
  stats.last_step = progress_.last;
}

}  // namespace fuseflow::engine
