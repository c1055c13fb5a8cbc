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
// What makes a batch worthwhile where another thread waits for what comes of it, and from when on
// one that is for nobody else goes first: parts and multiples of what it is else.
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
// Nanoseconds for what passes between threads: a token's copy, and its first reading; the same for
// a chunk. As measured, between the slowest and the fastest that the project's machine has shown.
constexpr double kGiveToken = 0.2;
constexpr double kTakeToken = 0.2;
constexpr double kToEncode = 0.3;  // of that, where short fibers are runs
constexpr double kAsRuns = 0.05;   // the same, where they come as run lengths
constexpr double kPassChunk = 300;

void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

/// What of an output's tokens crosses between threads.
double passed(const Node& node, size_t o, const Output& output) {
  if (output.gives_run_length) return kAsRuns;
  const bool runs = node.kind == NodeKind::repeat || (node.kind == NodeKind::scan && o == 1);
  return runs ? kToEncode : 1;
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
  // Whoever tells from here on is heard, even if the node does not see those tokens any more.
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
  // What others told before they could see that this one is idle.
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

/// Whether every thread has looked for work and has been told nothing since. Needs the lock.
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

std::vector<int> WorkerPool::scattered(int parts) {
  ++divisions_;
  std::vector<int> part(group_count_);
  for (size_t i = 0; i < part.size(); ++i) {
    part[i] = static_cast<int>((i + divisions_) % static_cast<size_t>(parts));
  }
  return part;
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

/// What was measured since the last division; forgets half of it.
Workload WorkerPool::workload() {
  Workload workload;
  workload.node.assign(group_count_, 0);
  double known = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) known += states_[i].work;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    workload.node[static_cast<size_t>(group_[i])] += known > 0 ? states_[i].work : 1;
    states_[i].work /= 2;
    for (size_t o = 0; o < nodes_[i]->outputs.size(); ++o) {
      const Output* output = nodes_[i]->outputs[o];
      if (output == nullptr) continue;
      Workload::Net net{group_[i], {}, 0, 0};
      for (const Port* port : output->ports) {
        const int place = position_[static_cast<size_t>(port->consumer)];
        if (place >= 0) net.to.push_back(group_[static_cast<size_t>(place)]);
      }
      const auto tokens = static_cast<double>(output->tokens.load() - given_[i][o]);
      given_[i][o] += static_cast<int64_t>(tokens / 2);
      const double chunks = tokens / chunk_;
      const double crosses = tokens * passed(nodes_[i]->node(), o, *output);
      net.giving = kGiveToken * crosses + kPassChunk * chunks;
      net.taking = kTakeToken * crosses + kPassChunk * chunks;
      workload.nets.push_back(std::move(net));
    }
  }
  return workload;
}

/// `part_of`: the thread of each group.
void WorkerPool::assign(const std::vector<int>& part_of) {
  std::vector<int> part;  // by place
  for (const int group : group_) part.push_back(part_of[static_cast<size_t>(group)]);
  find_feeders(part);
  for (const auto& worker : workers_) worker->nodes.clear();
  for (size_t i = 0; i < part.size(); ++i) {
    states_[i].owner = part[i];
    states_[i].stuck = false;
    Worker& owner = *workers_[static_cast<size_t>(part[i])];
    coalesce_ports(*nodes_[i], few_, &owner.coalescer);
    owner.nodes.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < part.size(); ++i) {
    for (Output* output : nodes_[i]->outputs) {
      if (output == nullptr) continue;
      output->copier = nullptr;
      for (Port* port : output->ports) {
        const int place = position_[static_cast<size_t>(port->consumer)];
        port->import();
        port->elsewhere = place >= 0 && part[static_cast<size_t>(place)] != part[i];
        if (port->elsewhere) output->copier = &workers_[static_cast<size_t>(part[i])]->copier;
      }
    }
  }
}

void WorkerPool::find_feeders(const std::vector<int>& part) {
  for (size_t i = 0; i < part.size(); ++i) states_[i].feeds = false;
  for (bool found = true; found;) {
    found = false;
    for (size_t i = part.size(); i-- > 0;) {
      if (states_[i].feeds || !feeds(i, part)) continue;
      states_[i].feeds = found = true;
    }
  }
}

/// Whether its tokens go to another thread's node, or to one that feeds another thread.
bool WorkerPool::feeds(size_t place, const std::vector<int>& part) const {
  const auto goes = [&](int neighbour) {
    const int to = position_[static_cast<size_t>(neighbour)];
    if (to < 0) return false;
    return part[static_cast<size_t>(to)] != part[place] || states_[static_cast<size_t>(to)].feeds;
  };
  for (const Output* output : nodes_[place]->outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) {
      if (goes(port->consumer)) return true;
    }
  }
  return false;
}

}  // namespace fuseflow::engine
