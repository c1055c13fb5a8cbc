// Several threads that work a schedule's nodes. Each owns some and works no others, so that what
// these pass to one another stays in one core's cache. They work for a while, then the nodes are
// dealt out anew, by the work that they turned out to be.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/functional/port.h"

namespace fuseflow::engine {

class EngineNode;
class Schedule;

class Team {
 public:
  Team(Schedule& schedule, int threads, bool scatter)
      : schedule_(schedule),
        threads_(threads),
        scatter_(scatter),
        may_spin_(threads <= static_cast<int>(std::thread::hardware_concurrency())) {}

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by the calling
  /// thread, with the latest step so far.
  void run(const std::function<bool(int64_t last_step)>& go_on);

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(kCacheLine) Worker {
    std::atomic<bool> news = false;  ///< its nodes have been given tokens or room
    bool asleep = false;             ///< these two are guarded by mutex_
    EngineNode* forced = nullptr;    ///< to be worked although it is far ahead
  };

  void work_a_round();
  void lead();
  void help();
  void serve(size_t self);
  void look_at_the_time();
  EngineNode* wait(size_t self);
  void tell(int worker);
  void wake(Worker& worker);
  void end_round();

  Schedule& schedule_;
  const int threads_;
  const bool scatter_;  // for tests: deals nodes out in turn
  const bool may_spin_;
  const std::thread::id caller_ = std::this_thread::get_id();
  const std::function<bool(int64_t)>* go_on_ = nullptr;
  bool stopped_ = false;  // go_on said no
  bool done_ = false;     // no node can go on
  Clock::duration round_{};
  Clock::time_point end_;  // of the round
  Clock::time_point asked_;

  std::atomic<bool> ended_ = false;  // the round
  std::mutex mutex_;                 // guards what follows
  std::condition_variable changed_;
  bool started_ = false;
  size_t joined_ = 0;  // threads of the round
  std::vector<Worker> workers_;
  size_t asleep_ = 0;
  std::exception_ptr problem_;
};

}  // namespace fuseflow::engine
