// Several threads that work a schedule's nodes. Each owns some and works no others, so that what
// these pass to one another stays in one core's cache. They work for a round, then the nodes are
// dealt out anew, by the work that they turned out to be. The calling thread leads: it works alone
// until others come, and again when they do not come.
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
#include "sim/functional/tuning.h"

namespace fuseflow::engine {

class EngineNode;
class Schedule;

class Team {
 public:
  Team(Schedule& schedule, int threads, const EngineTuning& tuning);

  /// Works until no node can go on or `go_on` says no; it is asked now and then, by the calling
  /// thread, with the latest step so far.
  void run(const std::function<bool(int64_t last_step)>& go_on);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State {
    away,     ///< it has not come yet
    working,  ///< it may touch the schedule
    resting,  ///< it waits until it is called
    called,   ///< there may be work for it, but the host has not run it since
    late,     ///< it was called in an earlier round, and has not run since: it owns no nodes
  };
  struct alignas(kCacheLine) Worker {
    std::atomic<bool> news = false;  ///< its nodes have been given tokens or room
    // Guarded by mutex_. The thread itself reads `number` without, while it works.
    State state = State::away;
    int number = -1;               ///< in the schedule; -1: it owns no nodes
    EngineNode* forced = nullptr;  ///< to be worked although it is far ahead
    std::condition_variable changed;
  };

  void lead();
  void help();
  void serve(size_t self);
  void look_at_the_time();
  bool round_is_over(Clock::time_point now) const;
  EngineNode* wait(size_t self);
  void tell(int number);

  // These need the lock.
  void sleep(std::unique_lock<std::mutex>& lock, size_t self);
  void force_one();
  void call(Worker& worker);
  void deal();
  void deal_anew(std::unique_lock<std::mutex>& lock);
  bool others_work() const;
  bool all_rest() const;
  void end();

  Schedule& schedule_;
  const int threads_;
  const bool scatter_;  // for tests: deals nodes out in turn, and waits for another first
  const bool may_spin_;
  const std::thread::id caller_ = std::this_thread::get_id();

  // The leader's:
  const std::function<bool(int64_t)>* go_on_ = nullptr;
  Clock::time_point asked_;
  Clock::duration round_;
  Clock::time_point begin_;  // of the round
  bool uncalled_ = false;    // it has waited in full, and nobody called it

  std::atomic<bool> paused_ = false;   // the others must not work: the nodes are dealt out
  std::atomic<bool> over_ = false;     // the run
  std::atomic<size_t> newcomers_ = 0;  // threads that wait for nodes of their own
  std::mutex mutex_;                   // guards what follows
  std::vector<Worker> workers_;        // the leader, and others in the order of their coming
  size_t joined_ = 1;
  std::vector<size_t> dealt_;  // by number: the worker
  std::exception_ptr problem_;
};

}  // namespace fuseflow::engine
