#include "sim/threads/schedule.h"

#include <algorithm>
#include <set>

#include "sim/threads/worker_pool.h"

namespace fuseflow::engine {

namespace {
constexpr int64_t kBatchesBetweenQuestions = 32;
}

Schedule::Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes,
                   const std::vector<int>& position, int64_t most_waiting, uint32_t few)
    : nodes_(nodes),
      position_(position),
      most_waiting_(most_waiting),
      few_(few),
      states_(nodes.size()) {
  for (const auto& node : nodes) coalesce_ports(*node, few, &coalescer_);
}

Schedule::~Schedule() {
  for (const auto& node : nodes_) coalesce_ports(*node, 0, nullptr);
}

/// The last node in graph order that has a worthwhile batch and is not far ahead; else the first
/// that has any, which makes more for others; if all are far ahead, the one with the fewest
/// waiting tokens. Null if there is none.
EngineNode* Schedule::next() const {
  EngineNode* any = nullptr;
  EngineNode* least = nullptr;
  int64_t least_waiting = INT64_MAX;
  for (size_t i = nodes_.size(); i-- > 0;) {
    EngineNode& node = *nodes_[i];
    if (states_[i].stuck || node.ended()) continue;
    const int64_t waiting = node.backlog();
    if (waiting < most_waiting_) {
      if (states_[i].worth) return &node;
      any = &node;
    } else if (waiting < least_waiting) {
      least_waiting = waiting;
      least = &node;
    }
  }
  return any != nullptr ? any : least;
}

/// The node has given tokens to its consumers.
void Schedule::tell_neighbours(const EngineNode& node) {
  const auto tell = [this](int neighbour) {
    const int at = position_[static_cast<size_t>(neighbour)];
    if (at < 0) return;
    State& state = states_[static_cast<size_t>(at)];
    state.stuck = false;
    state.worth = state.threshold.enough(nodes_[static_cast<size_t>(at)]->expected(), few_);
  };
  for (const Output* output : node.outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) tell(port->consumer);
  }
}

/// One batch of a node. False if it can do nothing now.
bool Schedule::work(EngineNode& node) {
  if (!node.work()) {
    states_[place(node)].stuck = true;
    return false;
  }
  tell_neighbours(node);
  for (const EngineNode* other : node.clock->also_gave()) tell_neighbours(*other);
  State& state = states_[place(node)];
  state.threshold.reset();
  state.worth = state.threshold.enough(node.expected(), few_);
  return true;
}

void Schedule::run(int threads, const EngineTuning& tuning,
                   const std::function<bool(int64_t)>& go_on) {
  std::set<const NodeClock*> clocks;
  for (const auto& node : nodes_) clocks.insert(node->clock);
  threads = std::min(threads, static_cast<int>(clocks.size()));
  if (!run_alone(threads > 1 ? tuning.alone : INT64_MAX, go_on)) return;
  WorkerPool(nodes_, position_, most_waiting_, few_, tuning).run(threads, go_on);
}

/// So many batches on the calling thread. False: there is no more to do.
bool Schedule::run_alone(int64_t batches, const std::function<bool(int64_t)>& go_on) {
  while (batches > 0) {
    EngineNode* node = next();
    if (node == nullptr) return false;
    if (!work(*node)) continue;
    --batches;
    last_step_ = std::max(last_step_, node->stats().last_step);
    if (++batches_ % kBatchesBetweenQuestions == 0 && !go_on(last_step_)) return false;
  }
  return true;
}

}  // namespace fuseflow::engine
