#include "sim/timing/replay.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewSteps = 8;      // are tried, however near the horizon is
constexpr int64_t kSomeSteps = 128;   // are tried, however few could be done last time
constexpr int64_t kMostLooked = 256;  // steps, for the next that gives
}  // namespace

void NodeReplay::fetch(StepSource& source) {
  if (!connected_) connect(source);
  queue_.fetch(source.log);
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

/// No more are worth a look.
int64_t NodeReplay::most_steps(int64_t horizon) const {
  const int64_t n = std::min(kMostSteps, 4 * done_last_ + kSomeSteps);
  return horizon - free_at() < n ? std::max(kFewSteps, horizon - free_at() + 1) : n;
}

bool NodeReplay::advance(StepSolver& solver, int64_t horizon) {
  const int64_t before = progress_.steps;
  StepEnd end = StepEnd::none;
  while (!queue_.empty() && end == StepEnd::none) {
    done_last_ =
        solver.run(queue_, ports_, most_steps(horizon), horizon, progress_, activity, stalls);
    end = solver.end();
  }
  state_ = queue_.empty() && end == StepEnd::none ? State::idle
           : end == StepEnd::beyond               ? State::beyond
                                                  : State::waits;
  if (state_ == State::waits) find_blocker();
  return progress_.steps != before;
}

/// The first thing that the next step waits for.
void NodeReplay::find_blocker() {
  for (const StepPorts::In& in : ports_.in) {
    blocker_ = in.fifo;
    blocker_count_ = queue_.needed_next(in.lane);
    blocker_credit_ = false;
    if (blocker_->held() < blocker_count_) return;
  }
  for (const StepPorts::Credit& credit : ports_.credits) {
    blocker_ = credit.fifo;
    blocker_count_ = queue_.given_next(credit.lane);
    blocker_credit_ = true;
    if (blocker_->room() < blocker_count_) return;
  }
}

int64_t NodeReplay::gives_from(int64_t time) const {
  int64_t quiet = kMostLooked;
  for (const StepPorts::Out& out : ports_.out) {
    quiet = std::min(quiet, queue_.before_give(out.lane, quiet));
  }
  return time + (queue_.empty() ? 0 : queue_.cost_of(quiet));
}

void NodeReplay::fill(NodeStats& stats) const {
  stats.busy = progress_.busy;
  stats.blocked = progress_.blocked;
  stats.steps = progress_.steps;
  stats.first_step = progress_.first;
  stats.last_step = progress_.last;
}

}  // namespace fuseflow::engine
