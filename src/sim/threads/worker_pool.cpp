#include "sim/threads/worker_pool.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "support/on_threads.h"

namespace fuseflow::engine {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kSpins = 2000;  // some tens of microseconds
// A node whose results another thread waits for goes first from few / kFewerForOthers tokens on,
// any other one from few * kMoreForItself on.
constexpr uint32_t kFewerForOthers = 4;
constexpr uint32_t kMoreForItself = 16;
constexpr auto kBetweenQuestions = milliseconds(2);
constexpr auto kLongestSleep = milliseconds(10);
constexpr auto kFirstDivision = milliseconds(1);
constexpr std::chrono::steady_clock::duration kScatterEvery = microseconds(100);
// The time that a batch usually takes: the mean of so many, none of which counts as more than so
// many times the others.
constexpr double kBatchesOfUsual = 16;
constexpr double kMostOfUsual = 4;
constexpr double kShortBatch = 2000;  // nanoseconds
constexpr auto kLastDivision = milliseconds(100);

void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

double nanoseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

}  // namespace

WorkerPool::WorkerPool(std::vector<std::unique_ptr<EngineNode>>& nodes,
                       const std::vector<int>& position, int64_t most_waiting, uint32_t few,
                       const EngineTuning& tuning)
    : nodes_(nodes),
      position_(position),
      most_waiting_(most_waiting),
      few_(few),
      chunk_(static_cast<double>(std::max<uint32_t>(1, tuning.chunk))),
      scatter_(tuning.scatter),
      states_(new State[nodes.size()]) {
  std::map<const NodeClock*, int> groups;
  for (const auto& node : nodes) {
    given_.emplace_back(node->outputs.size(), 0);
    group_.push_back(groups.emplace(node->clock, static_cast<int>(groups.size())).first->second);
  }
  group_count_ = groups.size();
}

WorkerPool::~WorkerPool() {
  for (const auto& node : nodes_) {
    for (Output* output : node->outputs) {
      if (output != nullptr) output->copier = nullptr;
    }
    for (Port* port : node->ports) {
      if (port != nullptr) port->elsewhere = false;
    }
    coalesce_ports(*node, 0, nullptr);
  }
}

void WorkerPool::run(int threads, const std::function<bool(int64_t)>& go_on) {
  go_on_ = &go_on;
  may_spin_ = threads <= static_cast<int>(std::thread::hardware_concurrency());
  for (int t = 0; t < threads; ++t) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->number = t;
  }
  // The calling thread is worker 0 and starts with all nodes.
  joined_ = 1;
  assign(std::vector<int>(group_count_, 0));
  asked_ = divided_ = Clock::now();
  until_division_ = scatter_ ? kScatterEvery : Clock::duration(kFirstDivision);
  const std::thread::id caller = std::this_thread::get_id();
  on_threads(threads, [&] {
    if (std::this_thread::get_id() == caller) {
      serve_as(*workers_[0]);
    } else {
      serve();
    }
  });
  if (problem_) std::rethrow_exception(problem_);
}

/// What a helping thread does. Those that come late find that all is done.
void WorkerPool::serve() {
  if (Worker* self = join()) serve_as(*self);
}

WorkerPool::Worker* WorkerPool::join() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !pause_ || ended_; });
  const int number = joined_;
  if (ended_ || number >= static_cast<int>(workers_.size())) return nullptr;
  joined_ = number + 1;
  return workers_[static_cast<size_t>(number)].get();
}

void WorkerPool::serve_as(Worker& self) {
  self.now = Clock::now();
  try {
    while (!ended_.load(std::memory_order_acquire)) {
      if (self.number == 0) lead();
      if (pause_.load(std::memory_order_acquire)) rest(self);
      EngineNode* node = next(self);
      if (node == nullptr) {
        node = wait(self);
        self.now = Clock::now();
      }
      if (node != nullptr) work(self, *node);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = std::current_exception();
    end();
  }
  self.copier.clear();
  self.coalescer.clear();
}

/// Of its nodes that are not far ahead the last in graph order that has a worthwhile batch for
/// others; else the last that has one for itself; else the first that may have any.
EngineNode* WorkerPool::next(Worker& self) {
  self.fills_in = false;
  EngineNode* own = nullptr;
  EngineNode* any = nullptr;
  for (size_t i = self.nodes.size(); i-- > 0;) {
    const auto place = static_cast<size_t>(self.nodes[i]);
    State& state = states_[place];
    EngineNode& node = *nodes_[place];
    if (node.ended()) continue;
    if (state.stuck) {
      if (!state.told.load(std::memory_order_seq_cst)) continue;
      state.stuck = false;
    }
    if (node.backlog() >= most_waiting_) continue;
    const double expected = node.expected();
    if (expected >= (state.feeds ? few_ / kFewerForOthers : few_ * kMoreForItself)) return &node;
    if (own == nullptr && state.threshold.enough(expected, few_)) own = &node;
    any = &node;
  }
  self.fills_in = own == nullptr;
  return own != nullptr ? own : any;
}

void WorkerPool::work(Worker& self, EngineNode& node) {
  State& state = states_[static_cast<size_t>(position_[static_cast<size_t>(node.id())])];
  // A signal from here on is kept, even if the node does not see those tokens any more.
  if (state.told.load(std::memory_order_relaxed)) state.told.exchange(false);
  const int64_t before = node.tokens();
  const bool worked = node.work();
  const Clock::time_point now = Clock::now();
  // One that took very much longer than usual was interrupted by other processes.
  const double took =
      std::min(nanoseconds(now - self.now), kMostOfUsual * state.usual + kShortBatch);
  state.usual += (took - state.usual) / kBatchesOfUsual;
  state.work += needed(self, state, took, static_cast<double>(node.tokens() - before));
  self.now = now;
  if (!worked) {
    state.stuck = true;
    return;
  }
  state.threshold.reset();
  self.last_step.store(
      std::max(self.last_step.load(std::memory_order_relaxed), node.stats().last_step),
      std::memory_order_relaxed);
  tell(self, node);
  for (const EngineNode* other : node.clock->also_gave()) tell(self, *other);
}

/// What a batch of so many tokens would have taken if the thread had had more to do: it would have
/// waited until it was longer.
double WorkerPool::needed(const Worker& self, State& state, double took, double tokens) {
  if (self.fills_in) return state.rate > 0 ? std::min(took, state.rate * tokens) : took;
  if (tokens > 0) {
    const double rate = took / tokens;
    state.rate += state.rate > 0 ? (rate - state.rate) / kBatchesOfUsual : rate;
  }
  return took;
}

/// The node has given tokens to its consumers, and room to its producers.
void WorkerPool::tell(const Worker& self, const EngineNode& node) {
  for (const Output* output : node.outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) tell_node(self, port->consumer, true);
  }
  for (const Port* port : node.ports) {
    if (port != nullptr) tell_node(self, port->producer, false);
  }
}

/// `tokens`: it may have something to do now; else only room to do it.
void WorkerPool::tell_node(const Worker& self, int neighbour, bool tokens) {
  const int place = position_[static_cast<size_t>(neighbour)];
  if (place < 0) return;
  State& state = states_[static_cast<size_t>(place)];
  if (state.owner == self.number) {
    if (tokens) state.stuck = false;
    return;
  }
  if (tokens) state.told.exchange(true, std::memory_order_seq_cst);
  wake(*workers_[static_cast<size_t>(state.owner)]);
}

void WorkerPool::wake(Worker& worker) {
  if (!worker.idle.load(std::memory_order_seq_cst)) return;
  worker.news.fetch_add(1, std::memory_order_seq_cst);
  if (!worker.asleep.load(std::memory_order_seq_cst)) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

/// Until there may be something to do. May return a node to be worked.
EngineNode* WorkerPool::wait(Worker& self) {
  self.seen = self.news.load(std::memory_order_seq_cst);
  self.idle.store(true, std::memory_order_seq_cst);
  idle_.fetch_add(1, std::memory_order_seq_cst);
  // Signals that came before other threads could see that this one is idle.
  EngineNode* node = next(self);
  for (int i = 0; node == nullptr && may_spin_ && i < kSpins; ++i) {
    if (self.news.load(std::memory_order_acquire) != self.seen || pause_ || ended_) break;
    if (idle_.load(std::memory_order_relaxed) == joined_.load(std::memory_order_relaxed)) break;
    pause();
  }
  if (node == nullptr && self.news.load(std::memory_order_acquire) == self.seen)
    node = settle(self);
  idle_.fetch_sub(1, std::memory_order_seq_cst);
  self.idle.store(false, std::memory_order_seq_cst);
  return node;
}

/// Sleeps; but if no thread has anything to do, the node with the fewest waiting tokens
/// works, and if there is none, the graph has ended.
EngineNode* WorkerPool::settle(Worker& self) {
  std::unique_lock lock(mutex_);
  self.settled = true;
  if (!all_settled()) return sleep(self, lock);
  EngineNode* least = nullptr;
  int owner = 0;
  int64_t waiting = INT64_MAX;
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (states_[i].stuck || nodes_[i]->ended() || nodes_[i]->backlog() >= waiting) continue;
    waiting = nodes_[i]->backlog();
    least = nodes_[i].get();
    owner = states_[i].owner;
  }
  if (least == nullptr) end();
  if (least == nullptr || owner == self.number) {
    self.settled = false;
    return least;
  }
  Worker& other = *workers_[static_cast<size_t>(owner)];
  other.forced = least;
  other.news.fetch_add(1, std::memory_order_seq_cst);
  changed_.notify_all();
  return sleep(self, lock);
}

/// Whether every thread has looked for work and has had no signal since. Needs the lock.
bool WorkerPool::all_settled() const {
  if (pause_) return false;
  for (int t = 0; t < joined_; ++t) {
    const Worker& worker = *workers_[static_cast<size_t>(t)];
    if (!worker.settled || worker.news.load(std::memory_order_seq_cst) != worker.seen) return false;
  }
  return true;
}

EngineNode* WorkerPool::sleep(Worker& self, std::unique_lock<std::mutex>& lock) {
  self.asleep.store(true, std::memory_order_seq_cst);
  changed_.wait_for(lock, kLongestSleep, [&] {
    return self.news.load(std::memory_order_seq_cst) != self.seen || pause_ || ended_;
  });
  self.asleep.store(false, std::memory_order_seq_cst);
  self.settled = false;
  return std::exchange(self.forced, nullptr);
}

/// Needs the lock.
void WorkerPool::end() {
  ended_ = true;
  changed_.notify_all();
}

// --- the calling thread ---

void WorkerPool::lead() {
  const Clock::time_point now = workers_[0]->now;
  const bool joined = joined_.load(std::memory_order_relaxed) != divided_among_;
  if (joined || now - divided_ > until_division_) divide_again();
  if (now - asked_ < kBetweenQuestions) return;
  asked_ = now;
  if ((*go_on_)(last_step())) return;
  const std::lock_guard lock(mutex_);
  end();
}

int64_t WorkerPool::last_step() const {
  int64_t last = -1;
  for (const auto& worker : workers_) {
    last = std::max(last, worker->last_step.load(std::memory_order_relaxed));
  }
  return last;
}

void WorkerPool::divide_again() {
  stop_others();
  if (ended_) return;
  const int among = joined_;
  assign(scatter_ ? scattered(among) : divide(workload(), among));
  if (divided_among_ == among && !scatter_) {
    until_division_ = std::min<Clock::duration>(2 * until_division_, kLastDivision);
  }
  divided_among_ = among;
  divided_ = Clock::now();
  const std::lock_guard lock(mutex_);
  pause_ = false;
  changed_.notify_all();
}

/// Returns when all other threads rest.
void WorkerPool::stop_others() {
  std::unique_lock lock(mutex_);
  pause_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return resting_ == joined_ - 1 || ended_; });
}

void WorkerPool::rest(Worker& self) {
  std::unique_lock lock(mutex_);
  ++resting_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !pause_ || ended_; });
  --resting_;
  self.now = Clock::now();
}

}  // namespace fuseflow::engine
