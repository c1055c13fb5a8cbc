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
  file_all(1);
}

void Schedule::look_again() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    states_[i].stuck = false;
    file(i);
  }
}

void Schedule::file(size_t place) {
  const State& state = states_[place];
  Choice& own = *choices_[static_cast<size_t>(state.owner)];
  own.worth.put(place, !state.stuck && state.worth);
  own.few.put(place, !state.stuck && !state.worth);
}

/// For so many threads, when nodes have new owners.
void Schedule::file_all(int threads) {
  choices_.clear();
  for (int t = 0; t < threads; ++t) choices_.push_back(std::make_unique<Choice>(nodes_.size()));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    file(i);
    if (!states_[i].told) continue;
    Choice& own = *choices_[static_cast<size_t>(states_[i].owner)];
    own.told.push_back(i);
    own.any_told = true;
  }
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
  file(place);
}

/// A node of another thread, once it has been given tokens.
void Schedule::tell_other(size_t place) {
  State& state = states_[place];
  if (state.told.exchange(true)) return;
  Choice& other = *choices_[static_cast<size_t>(state.owner)];
  const std::lock_guard lock(other.mutex);
  other.told.push_back(place);
  other.any_told = true;
}

void Schedule::look_at_told(Choice& own) {
  if (!own.any_told.load(std::memory_order_relaxed)) return;
  std::vector<size_t> told;
  {
    const std::lock_guard lock(own.mutex);
    told.swap(own.told);
    own.any_told = false;
  }
  for (const size_t place : told) {
    states_[place].told.exchange(false);  // what it is given from now on, it is told again
    look_at(place);
  }
}

/// Whether a node that is not stuck may work; one that has ended is not asked again.
bool Schedule::may_work(Choice& own, size_t place) {
  const EngineNode& node = *nodes_[place];
  if (!node.ended()) return node.backlog() < most_waiting_;
  own.worth.put(place, false);
  own.few.put(place, false);
  return false;
}

/// The last in graph order that has a worthwhile batch and is not far ahead; else the first that
/// has any, which makes more for others.
EngineNode* Schedule::next(int thread) {
  constexpr size_t kNone = PlaceSet::kNone;
  Choice& own = *choices_[static_cast<size_t>(thread)];
  look_at_told(own);
  size_t at = nodes_.size();
  while ((at = own.worth.last_before(at)) != kNone) {
    if (may_work(own, at)) return nodes_[at].get();
  }
  for (at = own.few.first_from(0); at != kNone; at = own.few.first_from(at + 1)) {
    if (may_work(own, at)) return nodes_[at].get();
  }
  return nullptr;
}

/// Of several the last.
EngineNode* Schedule::least_ahead() const {
  constexpr size_t kNone = PlaceSet::kNone;
  size_t least = kNone;
  int64_t least_waiting = INT64_MAX;
  const auto look = [&](size_t place) {
    if (nodes_[place]->ended()) return;
    const int64_t waiting = nodes_[place]->backlog();
    if (waiting > least_waiting || (waiting == least_waiting && place < least)) return;
    least_waiting = waiting;
    least = place;
  };
  for (const auto& choice : choices_) {
    for (const PlaceSet* set : {&choice->worth, &choice->few}) {
      for (size_t at = set->first_from(0); at != kNone; at = set->first_from(at + 1)) look(at);
    }
  }
  return least == kNone ? nullptr : nodes_[least].get();
}

bool Schedule::work(EngineNode& node, int thread, const std::function<void(int)>& tell) {
  State& own = states_[place(node)];
  if (!node.work()) {
    own.stuck = true;
    file(place(node));
    return false;
  }
  const auto tell_neighbour = [&](int neighbour, bool tokens) {
    const size_t at = place(neighbour);
    State& state = states_[at];
    if (state.owner == thread) {
      if (tokens) look_at(at);
      return;
    }
    if (tokens) tell_other(at);
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
  file_all(std::max(threads, 1));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (Port* port : nodes_[i]->ports) {
      if (port == nullptr) continue;
      port->import();
      port->elsewhere = states_[place(port->producer)].owner != states_[i].owner;
    }
  }
}

}  // namespace fuseflow::engine
