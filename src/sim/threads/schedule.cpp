#include "sim/threads/schedule.h"

#include <algorithm>
#include <map>

#include "sim/threads/team.h"
#include "support/on_threads.h"

namespace fuseflow::engine {

namespace {

constexpr int64_t kBatchesBetweenQuestions = 32;
constexpr uint32_t kManyOfFew = 4;  // a node that waits, waits for so many times `few` tokens
// Nanoseconds for a token that passes between threads, on each side: between the least and the
// greatest value measured.
constexpr double kPassToken = 0.2;

}  // namespace

Schedule::Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes,
                   const std::vector<int>& position, int64_t most_waiting, uint32_t few)
    : nodes_(nodes),
      position_(position),
      most_waiting_(most_waiting),
      few_(few),
      states_(new State[nodes.size()]) {
  for (const auto& node : nodes) {
    given_.emplace_back(node->outputs.size(), 0.0);
    for (Port* port : node->ports) {
      if (port != nullptr) port->few = few;
    }
  }
}

void Schedule::look_again() {
  for (size_t i = 0; i < nodes_.size(); ++i) states_[i].stuck = false;
}

/// Looks at a node again that has been given tokens, or has worked. A node that has a batch of less
/// than `few` tokens waits until it has many: two or three short segments more would not pay for
/// making one of them (coalesce.cpp).
void Schedule::look_at(size_t place) {
  State& state = states_[place];
  state.stuck = false;
  const double expected = nodes_[place]->expected();
  state.waits = state.waits || expected < few_;
  state.worth = expected >= (state.waits ? kManyOfFew : 1) * static_cast<double>(few_);
}

/// The last in graph order that has a worthwhile batch and is not far ahead; else the first that
/// has any, which makes more for others.
EngineNode* Schedule::next(int thread) {
  EngineNode* any = nullptr;
  for (size_t i = nodes_.size(); i-- > 0;) {
    State& state = states_[i];
    EngineNode& node = *nodes_[i];
    if (state.owner != thread || node.ended()) continue;
    if (state.told.load(std::memory_order_relaxed) && state.told.exchange(false)) look_at(i);
    if (state.stuck || node.backlog() >= most_waiting_) continue;
    if (state.worth) return &node;
    any = &node;
  }
  return any;
}

EngineNode* Schedule::least_ahead() const {
  EngineNode* least = nullptr;
  int64_t least_waiting = INT64_MAX;
  for (size_t i = nodes_.size(); i-- > 0;) {
    EngineNode& node = *nodes_[i];
    if (states_[i].stuck || node.ended()) continue;
    const int64_t waiting = node.backlog();
    if (waiting >= least_waiting) continue;
    least_waiting = waiting;
    least = &node;
  }
  return least;
}

bool Schedule::work(EngineNode& node, int thread, const std::function<void(int)>& tell) {
  State& own = states_[place(node)];
  if (!node.work()) {
    own.stuck = true;
    return false;
  }
  const auto tell_neighbour = [&](int neighbour, bool tokens) {
    const size_t at = place(neighbour);
    State& state = states_[at];
    if (state.owner == thread) {
      if (tokens) look_at(at);
      return;
    }
    if (tokens) state.told.store(true);
    tell(state.owner);
  };
  const auto has_given = [&](const EngineNode& giver) {
    for (const Output* output : giver.outputs) {
      if (output == nullptr) continue;
      for (const Port* port : output->ports) tell_neighbour(port->consumer, true);
    }
  };
  has_given(node);
  for (const EngineNode* other : node.clock->also_gave()) has_given(*other);
  for (const Port* port : node.ports) {
    if (port != nullptr) tell_neighbour(port->producer, false);
  }
  own.waits = false;
  look_at(place(node));
  if (node.stats().last_step > last_step()) last_step_ = node.stats().last_step;
  return true;
}

void Schedule::run(int threads, const EngineTuning& tuning,
                   const std::function<bool(int64_t)>& go_on) {
  std::map<const NodeClock*, int> groups;
  group_.clear();
  for (const auto& node : nodes_) {
    group_.push_back(groups.emplace(node->clock, static_cast<int>(groups.size())).first->second);
  }
  groups_ = static_cast<int>(groups.size());
  threads = std::min(threads, groups_);
  // Two threads on one processor pass tokens to one another and gain nothing.
  if (!tuning.scatter) threads = std::min(threads, processors());
  if (!run_alone(threads > 1 ? tuning.alone : INT64_MAX, go_on)) return;
  Team(*this, threads, tuning).run(go_on);
}

/// Works so many batches on the calling thread. False: there is no more to do.
bool Schedule::run_alone(int64_t batches, const std::function<bool(int64_t)>& go_on) {
  const std::function<void(int)> nobody = [](int) {};
  while (batches > 0) {
    EngineNode* node = next(0);
    if (node == nullptr) node = least_ahead();
    if (node == nullptr) return false;
    if (!work(*node, 0, nobody)) continue;
    --batches;
    if (++batches_ % kBatchesBetweenQuestions == 0 && !go_on(last_step())) return false;
  }
  return true;
}

// --- who owns what ---

/// What was measured since the last division; half of it is forgotten.
Workload Schedule::workload() {
  Workload workload;
  workload.node.assign(static_cast<size_t>(groups_), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    workload.node[group_[i]] += states_[i].work;
    states_[i].work /= 2;
    for (size_t o = 0; o < nodes_[i]->outputs.size(); ++o) {
      const Output* output = nodes_[i]->outputs[o];
      if (output == nullptr) continue;
      const double tokens = static_cast<double>(output->tokens.load()) - given_[i][o];
      given_[i][o] += tokens / 2;
      Workload::Net net{group_[i], {}, kPassToken * tokens, kPassToken * tokens};
      for (const Port* port : output->ports) {
        net.to.push_back(group_[place(port->consumer)]);
      }
      workload.nets.push_back(std::move(net));
    }
  }
  return workload;
}

/// Anew each time.
std::vector<int> Schedule::in_turn(int threads) {
  std::vector<int> owner;
  owner.reserve(static_cast<size_t>(groups_));
  for (int group = 0; group < groups_; ++group) owner.push_back((group + divisions_) % threads);
  ++divisions_;
  return owner;
}

/// What is known of a node stays: if one that can do nothing were tried again after every division,
/// rounds might end before the node that can go on is reached.
void Schedule::divide(int threads, bool scatter) {
  std::vector<int> owner(static_cast<size_t>(groups_), 0);
  if (threads > 1)
    owner = scatter ? in_turn(threads) : fuseflow::engine::divide(workload(), threads);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    states_[i].owner = owner[group_[i]];
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (Port* port : nodes_[i]->ports) {
      if (port == nullptr) continue;
      port->import();
      port->elsewhere = states_[place(port->producer)].owner != states_[i].owner;
    }
  }
}

}  // namespace fuseflow::engine
