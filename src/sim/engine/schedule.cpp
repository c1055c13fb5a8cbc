#include "sim/engine/schedule.h"

#include <algorithm>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "sim/engine/threads.h"

namespace fuseflow::engine {

namespace {
constexpr int kBatchesBetweenQuestions = 256;
constexpr int kSpins = 2000;  // some tens of microseconds

void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}
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
  on_threads(threads, [&] { serve(go_on); });
  if (problem_) std::rethrow_exception(problem_);
}

/// What each thread does: takes a node, works a batch without the lock, tells the neighbours.
void Schedule::serve(const std::function<bool(int64_t)>& go_on) {
  std::unique_lock lock(mutex_, std::defer_lock);
  lock_soon(lock);
  while (!ended_) {
    EngineNode* node = next();
    if (node == nullptr) {
      if (running_ == 0) break;
      wait_for_change(lock);
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
    lock_soon(lock);
    state.running = false;
    --running_;
    if (problem && !problem_) problem_ = problem;
    if (problem_ || !finished(*node, worked, tokens, go_on)) ended_ = true;
    changed();
  }
  ended_ = true;
  changed();
}

/// A batch takes some microseconds, the lock is held for a fraction of one: waiting in the kernel for it
/// would take longer than the wait.
void Schedule::lock_soon(std::unique_lock<std::mutex>& lock) {
  for (int i = 0; i < kSpins; ++i) {
    if (lock.try_lock()) return;
    pause();
  }
  lock.lock();
}

void Schedule::changed() {
  changes_.fetch_add(1, std::memory_order_release);
  if (sleeping_ > 0) changed_.notify_all();
}

/// Returns, with the lock, when some batch has ended since.
void Schedule::wait_for_change(std::unique_lock<std::mutex>& lock) {
  const uint64_t seen = changes_.load(std::memory_order_relaxed);
  lock.unlock();
  for (int i = 0; i < kSpins; ++i) {
    if (changes_.load(std::memory_order_acquire) != seen) return lock_soon(lock);
    pause();
  }
  lock.lock();
  ++sleeping_;
  changed_.wait(lock, [&] { return changes_.load(std::memory_order_relaxed) != seen; });
  --sleeping_;
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
