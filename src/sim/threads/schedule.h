// Which node works next, on one thread or on several (team.h). Every order gives the same results,
// counts and times; this one keeps the tokens that wait between nodes few.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/functional/node.h"
#include "sim/functional/tuning.h"
#include "sim/threads/partition.h"
#include "sim/threads/place_set.h"

namespace fuseflow::engine {

class Schedule {
 public:
  /// `position` by node: its place in `nodes`, -1 if it is not there. A node that is more than
  /// `most_waiting` tokens ahead of a consumer is set aside until nothing else can go on, and one
  /// whose batch would be less than `few` tokens until nothing else is more.
  Schedule(std::vector<std::unique_ptr<EngineNode>>& nodes, const std::vector<int>& position,
           int64_t most_waiting, uint32_t few);

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by the calling
  /// thread, with the latest step so far. Other threads start after `tuning.alone` batches.
  void run(int threads, const EngineTuning& tuning,
           const std::function<bool(int64_t last_step)>& go_on);
  /// Some nodes have been given tokens since run() ended.
  void look_again();

  // Threads have numbers, and each works the nodes that it owns; all are thread 0's at first.

  /// Deals nodes out to so many threads, for about equal work; in turn if `scatter`.
  void divide(int threads, bool scatter = false);
  /// A node of the thread to work; null if there is none that is not far ahead.
  EngineNode* next(int thread);
  /// The node with the fewest waiting tokens among the nodes of all threads that are far ahead;
  /// null if there is none.
  EngineNode* least_ahead() const;
  /// One batch of a node of the thread. False if the node can do nothing now. Calls tell(other) for
  /// threads whose nodes have got tokens or room by it.
  bool work(EngineNode& node, int thread, const std::function<void(int)>& tell);
  /// What the node's batches have taken.
  void add_work(const EngineNode& node, double nanoseconds) {
    states_[place(node)].work += nanoseconds;
  }
  int owner_of(const EngineNode& node) const { return states_[place(node)].owner; }
  int64_t last_step() const { return last_step_.load(std::memory_order_relaxed); }

 private:
  struct alignas(kCacheLine) State {
    int owner = 0;
    bool stuck = false;                                  ///< nothing to do until a token comes
    bool worth = true;                                   ///< what waits is worth a batch
    bool waits = false;                                  ///< for a batch of many tokens
    double work = 0;                                     ///< nanoseconds
    alignas(kCacheLine) std::atomic<bool> told = false;  ///< another thread has given it tokens
  };
  /// What a thread may work: its nodes that are not stuck (nor, but for some, ended).
  struct alignas(kCacheLine) Choice {
    explicit Choice(size_t nodes) : worth(nodes), few(nodes) {}
    PlaceSet worth, few;  ///< by State::worth
    // Other threads':
    alignas(kCacheLine) std::atomic<bool> any_told = false;
    std::mutex mutex;
    std::vector<size_t> told;  ///< guarded by `mutex`; places whose State::told is set
  };

  bool run_alone(int64_t batches, const std::function<bool(int64_t)>& go_on);
  void look_at(size_t place);
  void look_at_told(Choice& own);
  void tell_other(size_t place);
  /// Puts a node into the set of its thread where it belongs.
  void file(size_t place);
  void file_all(int threads);
  bool may_work(Choice& own, size_t place);
  Workload workload();
  std::vector<int> in_turn(int threads);
  /// Streams stay in their phase, so that a neighbour of a node is one of the nodes.
  size_t place(NodeId node) const { return static_cast<size_t>(position_[node]); }
  size_t place(const EngineNode& node) const { return place(node.id()); }

  std::vector<std::unique_ptr<EngineNode>>& nodes_;
  const std::vector<int>& position_;
  const int64_t most_waiting_;
  const uint32_t few_;
  std::unique_ptr<State[]> states_;               // by place
  std::vector<std::unique_ptr<Choice>> choices_;  // by thread
  std::vector<int> group_;  // by place: nodes with one clock are worked by one thread
  int groups_ = 0;
  std::vector<std::vector<double>> given_;  // by place and output: tokens as of the last division
  int64_t batches_ = 0;
  int divisions_ = 0;
  std::atomic<int64_t> last_step_ = -1;
};

}  // namespace fuseflow::engine
