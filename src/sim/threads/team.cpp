#include "sim/threads/team.h"

#include <algorithm>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "sim/threads/schedule.h"
#include "support/on_threads.h"

namespace fuseflow::engine {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kSpins = 2000;  // some tens of microseconds
constexpr auto kBetweenQuestions = milliseconds(2);
constexpr auto kLongestSleep = milliseconds(10);
constexpr auto kJoining = microseconds(200);  // the caller waits so long for others
constexpr auto kFirstRound = milliseconds(1);
constexpr auto kLongestRound = milliseconds(500);
constexpr auto kScattered = microseconds(100);  // a round, in tests

void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

}  // namespace

void Team::run(const std::function<bool(int64_t)>& go_on) {
  go_on_ = &go_on;
  asked_ = Clock::now();
  round_ = scatter_ ? Clock::duration(kScattered) : Clock::duration(kFirstRound);
  while (!done_ && !stopped_) {
    work_a_round();
    if (!scatter_) round_ = std::min<Clock::duration>(2 * round_, kLongestRound);
  }
}

/// Those that come too late for it find that it has started.
void Team::work_a_round() {
  ended_ = started_ = false;
  joined_ = 1;
  asleep_ = 0;
  on_threads(threads_, [this] { std::this_thread::get_id() == caller_ ? lead() : help(); });
  schedule_.divide(1);
  if (problem_) std::rethrow_exception(problem_);
}

void Team::lead() {
  std::unique_lock lock(mutex_);
  if (started_) return;
  const auto all_here = [this] { return joined_ == static_cast<size_t>(threads_); };
  changed_.wait_for(lock, kJoining, all_here);
  workers_ = std::vector<Worker>(joined_);
  schedule_.divide(static_cast<int>(joined_), scatter_);
  end_ = Clock::now() + round_;
  started_ = true;
  changed_.notify_all();
  lock.unlock();
  serve(0);
}

void Team::help() {
  std::unique_lock lock(mutex_);
  if (started_) return;
  const size_t self = joined_++;
  changed_.notify_all();
  changed_.wait(lock, [this] { return started_; });
  lock.unlock();
  serve(self);
}

void Team::serve(size_t self) {
  const auto thread = static_cast<int>(self);
  const std::function<void(int)> tell_other = [this](int other) { tell(other); };
  Clock::time_point before = Clock::now();
  try {
    while (!ended_.load(std::memory_order_acquire)) {
      EngineNode* node = schedule_.next(thread);
      if (node == nullptr) {
        node = wait(self);
        before = Clock::now();
      }
      if (node != nullptr) {
        schedule_.work(*node, thread, tell_other);
        const Clock::time_point now = Clock::now();
        schedule_.add_work(*node, std::chrono::duration<double, std::nano>(now - before).count());
        before = now;
      }
      if (self == 0) look_at_the_time();  // after a batch: each round does something
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = std::current_exception();
    end_round();
  }
}

/// The calling thread's.
void Team::look_at_the_time() {
  const Clock::time_point now = Clock::now();
  if (now - asked_ >= kBetweenQuestions) {
    asked_ = now;
    stopped_ = !(*go_on_)(schedule_.last_step());
  }
  if (now < end_ && !stopped_) return;
  const std::lock_guard lock(mutex_);
  end_round();
}

/// Until there may be something to do. If no thread has anything, the node with the fewest waiting
/// tokens works, and if there is none, the graph has ended. May return a node to be worked.
EngineNode* Team::wait(size_t self) {
  Worker& own = workers_[self];
  for (int i = 0; may_spin_ && i < kSpins && !own.news.load(std::memory_order_relaxed); ++i) {
    pause();
  }
  std::unique_lock lock(mutex_);
  if (!own.news) {
    own.asleep = true;
    if (++asleep_ == workers_.size()) {
      EngineNode* least = schedule_.least_ahead();
      done_ = least == nullptr;
      if (done_) {
        end_round();
      } else {
        Worker& owner = workers_[static_cast<size_t>(schedule_.owner_of(*least))];
        owner.forced = least;
        wake(owner);
      }
    }
    changed_.wait_for(lock, kLongestSleep, [&] { return !own.asleep || ended_; });
    wake(own);
  }
  own.news = false;
  return std::exchange(own.forced, nullptr);
}

void Team::tell(int worker) {
  const std::lock_guard lock(mutex_);
  Worker& other = workers_[static_cast<size_t>(worker)];
  other.news = true;
  wake(other);
}

/// Needs the lock, as does the next.
void Team::wake(Worker& worker) {
  if (!worker.asleep) return;
  worker.asleep = false;
  --asleep_;
  changed_.notify_all();
}

void Team::end_round() {
  ended_ = true;
  changed_.notify_all();
}

}  // namespace fuseflow::engine
