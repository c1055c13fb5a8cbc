// Which node works next; on several threads, once it pays, a pool of workers (worker_pool.h). Every
// order gives the same results, counts and times; this one keeps the tokens that wait between nodes
// few.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/functional/node.h"
#include "sim/functional/tuning.h"
#include "sim/threads/batch_threshold.h"

namespace fuseflow::engine {

class Schedule {
 public:
  /// `position` by node: its place in `nodes`, -1 if it is not there. A node that is more than
  /// `most_waiting` tokens ahead of a consumer is set aside until nothing else can go on, and one
  /// whose batch would be less than `few` tokens until nothing else is more.
  Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes, const std::vector<int>& position,
           int64_t most_waiting, uint32_t few);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by the calling
  /// thread, with the latest step so far. Other threads start after `tuning.alone` batches.
  void run(int threads, const EngineTuning& tuning,
           const std::function<bool(int64_t last_step)>& go_on);
  /// Some nodes have been given tokens since run() ended.
  void look_again() {
    for (State& state : states_) state.stuck = false;
  }

 private:
  struct State {
    bool stuck = false;  ///< nothing to do until a token comes
    bool worth = true;   ///< what waits is worth a batch
    BatchThreshold threshold;
  };

  EngineNode* next() const;
  bool work(EngineNode& node);
  bool run_alone(int64_t batches, const std::function<bool(int64_t)>& go_on);
  void tell_neighbours(const EngineNode& node);
  size_t place(const EngineNode& node) const {
    return static_cast<size_t>(position_[static_cast<size_t>(node.id())]);
  }

  std::vector<std::unique_ptr<EngineNode>>& nodes_;
  const std::vector<int>& position_;
  const int64_t most_waiting_;
  const uint32_t few_;
  std::vector<State> states_;
  Coalescer coalescer_;
  int64_t batches_ = 0;
  int64_t last_step_ = -1;
};

}  // namespace fuseflow::engine
