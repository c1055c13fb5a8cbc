// Which node works next, on one or more threads. Every order gives the same results, counts and times;
// this one keeps the tokens that wait between nodes few.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/engine/node.h"

namespace fuseflow::engine {

class Schedule {
 public:
  /// `position` by node: its place in `nodes`, -1 if it is not there. A node that is more than
  /// `most_waiting` tokens ahead of a consumer is set aside until nothing else can go on.
  Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes, const std::vector<int>& position,
           int64_t most_waiting);

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by one thread at a
  /// time, with the latest step so far.
  void run(int threads, const std::function<bool(int64_t last_step)>& go_on);

  /// One batch of a node. False if it can do nothing now.
  bool work(EngineNode& node);
  bool stuck(const EngineNode& node) const { return states_[place(node)].stuck; }
  bool far_ahead(const EngineNode& node) const { return node.backlog() >= most_waiting_; }

 private:
  struct State {
    bool stuck = false;     ///< nothing to do until a token comes
    bool running = false;
    uint64_t tokens = 0;    ///< how often it was told of new tokens
  };

  EngineNode* next() const;
  void serve(const std::function<bool(int64_t)>& go_on);
  static void lock_soon(std::unique_lock<std::mutex>& lock);
  void changed();
  void wait_for_change(std::unique_lock<std::mutex>& lock);
  void tell_neighbours(const EngineNode& node);
  size_t place(const EngineNode& node) const {
    return static_cast<size_t>(position_[static_cast<size_t>(node.id())]);
  }
  bool finished(const EngineNode& node, bool worked, uint64_t tokens,
                const std::function<bool(int64_t)>& go_on);

  std::vector<std::unique_ptr<EngineNode>>& nodes_;
  const std::vector<int>& position_;
  const int64_t most_waiting_;
  std::vector<State> states_;
  // of a run on several threads
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint64_t> changes_ = 0;  ///< batches ended; raised under the lock
  int sleeping_ = 0;
  int running_ = 0;
  bool ended_ = false;
  int batches_ = 0;
  int64_t last_step_ = -1;
  std::exception_ptr problem_;
};

}  // namespace fuseflow::engine
