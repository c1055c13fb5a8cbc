// Several threads that work a graph's nodes. Each owns some nodes and works no others, so that what
// they pass to one another stays in one core's cache. The division follows from the work measured
// so far and is made anew now and then. Every division, and every order, gives the same results.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/functional/node.h"
#include "sim/functional/tuning.h"
#include "sim/threads/batch_threshold.h"
#include "sim/threads/cross_thread_copy.h"
#include "sim/threads/partition.h"

namespace fuseflow::engine {

class WorkerPool {
 public:
  WorkerPool(std::vector<std::unique_ptr<EngineNode>>& nodes, const std::vector<int>& position,
             int64_t most_waiting, uint32_t few, const EngineTuning& tuning);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by the calling
  /// thread, with the latest step so far.
  void run(int threads, const std::function<bool(int64_t last_step)>& go_on);

 private:
  using Clock = std::chrono::steady_clock;

  struct alignas(kCacheLine) State {
    int owner = 0;
    bool stuck = false;  ///< nothing to do until a token comes
    BatchThreshold threshold;
    bool feeds = false;  ///< others' nodes, at last
    double work = 0;     ///< nanoseconds since the last division
    double usual = 0;    ///< nanoseconds of a batch
    double rate = 0;     ///< nanoseconds of a token in worthwhile batches
    alignas(kCacheLine) std::atomic<bool> told = false;  ///< another thread has given it tokens
  };
  struct alignas(kCacheLine) Worker {
    int number = 0;
    std::vector<int> nodes;  ///< places of its nodes, in graph order
    CrossThreadCopy copier;
    Coalescer coalescer;
    Clock::time_point now;  ///< when its last batch ended
    bool fills_in = false;  ///< the batch at hand is not worthwhile, but there is no other
    uint64_t seen = 0;      ///< of `news`, when it last found nothing to do
    // Guarded by mutex_:
    bool settled = false;          ///< has looked, and sleeps
    EngineNode* forced = nullptr;  ///< to be worked although it is far ahead
    std::atomic<int64_t> last_step = -1;
    std::atomic<bool> idle = false;
    std::atomic<bool> asleep = false;
    alignas(kCacheLine) std::atomic<uint64_t> news =
        0;  ///< something has changed for one of its nodes
  };

  void serve();
  Worker* join();
  void serve_as(Worker& self);
  EngineNode* next(Worker& self);
  void work(Worker& self, EngineNode& node);
  static double needed(const Worker& self, State& state, double took, double tokens);
  void tell(const Worker& self, const EngineNode& node);
  void tell_node(const Worker& self, int neighbour, bool tokens);
  void wake(Worker& worker);
  EngineNode* wait(Worker& self);
  EngineNode* settle(Worker& self);
  EngineNode* sleep(Worker& self, std::unique_lock<std::mutex>& lock);
  bool all_settled() const;
  void end();
  // the calling thread
  void lead();
  int64_t last_step() const;
  void divide_again();
  void stop_others();
  void assign(const std::vector<int>& part_of);
  void find_feeders(const std::vector<int>& part);
  bool feeds(size_t place, const std::vector<int>& part) const;
  std::vector<int> scattered(int parts);
  Workload workload();
  void rest(Worker& self);

  std::vector<std::unique_ptr<EngineNode>>& nodes_;
  const std::vector<int>& position_;
  const int64_t most_waiting_;
  const uint32_t few_;
  const double chunk_;  // tokens
  const bool scatter_;
  std::unique_ptr<State[]> states_;  // by place
  std::vector<int> group_;           // by place: nodes with one clock are worked by one thread
  size_t group_count_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<int64_t>> given_;  // by place and output: tokens at the last division
  const std::function<bool(int64_t)>* go_on_ = nullptr;
  Clock::time_point asked_;
  Clock::time_point divided_;
  Clock::duration until_division_{};
  int divided_among_ = 0;
  size_t divisions_ = 0;
  bool may_spin_ = false;

  alignas(kCacheLine) std::atomic<bool> ended_ = false;
  std::atomic<bool> pause_ = false;
  std::atomic<int> joined_ = 0;
  alignas(kCacheLine) std::atomic<int> idle_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int resting_ = 0;             // guarded by mutex_
  std::exception_ptr problem_;  // guarded by mutex_
};

}  // namespace fuseflow::engine
