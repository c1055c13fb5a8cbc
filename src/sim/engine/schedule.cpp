#include "sim/engine/schedule.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace fuseflow::engine {

namespace {
constexpr int kBatchesBetweenQuestions = 256;
}

Schedule::Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes,
                   const std::vector<int>& position, int64_t most_waiting)
    : nodes_(nodes), position_(position), most_waiting_(most_waiting), states_(nodes.size()) {}

/// The last node in graph order that may have something to do and is not far ahead; if all are far
/// ahead, the least far one, unless another one is running. Null if there is none.
EngineNode* Schedule::next() const {
  EngineNode* least = nullptr;
  int64_t least_waiting = INT64_MAX;
  for (size_t i = nodes_.size(); i-- > 0;) {
    EngineNode& node = *nodes_[i];
    if (states_[i].stuck || states_[i].running || node.ended()) continue;
    const int64_t waiting = node.backlog();
    if (waiting < most_waiting_) return &node;
    if (waiting < least_waiting) {
      least_waiting = waiting;
      least = &node;
    }
  }
  return running_ == 0 ? least : nullptr;
}

/// The node has given tokens to its consumers, and credits to bounded buffers before it.
void Schedule::tell_neighbours(const EngineNode& node) {
  const auto tell = [this](int neighbour) {
    const int at = position_[static_cast<size_t>(neighbour)];
    if (at < 0) return;
    State& state = states_[static_cast<size_t>(at)];
    state.stuck = false;
    ++state.tokens;
  };
  for (const Output* output : node.outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) tell(port->consumer);
  }
  for (const Port* port : node.ports) {
    if (port != nullptr && port->credits != nullptr) tell(port->producer);
  }
}

bool Schedule::work(EngineNode& node) {
  if (!node.work()) {
    states_[place(node)].stuck = true;
    return false;
  }
  tell_neighbours(node);
  return true;
}

void Schedule::run(int threads, const std::function<bool(int64_t)>& go_on) {
  threads = std::min(threads, static_cast<int>(nodes_.size()));
  if (threads <= 1) {
    while (EngineNode* node = next()) {
      if (!work(*node)) continue;
      last_step_ = std::max(last_step_, node->stats().last_step);
      if (++batches_ % kBatchesBetweenQuestions == 0 && !go_on(last_step_)) return;
    }
    return;
  }
  // Plain threads: each lives for the whole run, and the thread sanitizer sees them start and end.
  std::vector<std::thread> helpers;
  try {
    for (int t = 1; t < threads; ++t) helpers.emplace_back([&] { serve(go_on); });
  } catch (const std::system_error&) {  // no more threads: fewer do the same
  }
  serve(go_on);
  for (std::thread& helper : helpers) helper.join();
  if (problem_) std::rethrow_exception(problem_);
}

/// What each thread does: takes a node, works a batch without the lock, tells the consumers.
void Schedule::serve(const std::function<bool(int64_t)>& go_on) {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    EngineNode* node = next();
    if (node == nullptr) {
      if (running_ == 0) break;
      changed_.wait(lock);
      continue;
    }
    State& state = states_[place(*node)];
    state.running = true;
    ++running_;
    const uint64_t tokens = state.tokens;
    lock.unlock();
    bool worked = false;
    std::exception_ptr problem;
    try {
      worked = node->work();
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    state.running = false;
    --running_;
    if (problem && !problem_) problem_ = problem;
    if (problem_ || !finished(*node, worked, tokens, go_on)) ended_ = true;
    changed_.notify_all();
  }
  ended_ = true;
  changed_.notify_all();
}

bool Schedule::finished(const EngineNode& node, bool worked, uint64_t tokens,
                        const std::function<bool(int64_t)>& go_on) {
  State& state = states_[place(node)];
  if (!worked) {
    state.stuck = state.tokens == tokens;  // tokens may have come while it was looking
    return true;
  }
  tell_neighbours(node);
  last_step_ = std::max(last_step_, node.stats().last_step);
  return ++batches_ % kBatchesBetweenQuestions != 0 || go_on(last_step_);
}

}  // namespace fuseflow::engine
