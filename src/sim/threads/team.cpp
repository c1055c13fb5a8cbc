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
constexpr auto kPatience = milliseconds(2);   // of a leader without work
constexpr auto kJoining = microseconds(200);  // so long newcomers wait for further ones
constexpr auto kFirstRound = milliseconds(1);
constexpr auto kLongestRound = milliseconds(500);
constexpr int kDividingShare = 16;  // of a round, that of dealing out its nodes

void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

}  // namespace

Team::Team(Schedule& schedule, int threads, const EngineTuning& tuning)
    : schedule_(schedule),
      threads_(threads),
      scatter_(tuning.scatter),
      may_spin_(threads <= processors()),
      round_(kFirstRound),
      workers_(static_cast<size_t>(threads)) {
  if (scatter_) round_ = microseconds(tuning.scatter_microseconds);
}

void Team::run(const std::function<bool(int64_t)>& go_on) {
  go_on_ = &go_on;
  asked_ = Clock::now();
  on_threads(threads_, [this] { std::this_thread::get_id() == caller_ ? lead() : help(); });
  schedule_.divide(1);
  if (problem_) std::rethrow_exception(problem_);
}

void Team::lead() {
  {
    std::unique_lock lock(mutex_);
    if (over_) return;  // in the place of a thread that has not come
    workers_[0].state = State::working;
    const auto one_has_come = [this] { return joined_ > 1; };
    if (scatter_) workers_[0].changed.wait_for(lock, kPatience, one_has_come);
    deal();
  }
  serve(0);
}

void Team::help() {
  size_t self = 0;
  {
    std::unique_lock lock(mutex_);
    if (over_) return;
    self = joined_++;
    workers_[self].state = State::resting;
    ++newcomers_;
    if (scatter_) workers_[0].changed.notify_one();
    sleep(lock, self);
  }
  serve(self);
}

void Team::serve(size_t self) {
  const Worker& own = workers_[self];
  const std::function<void(int)> tell_other = [this](int other) { tell(other); };
  Clock::time_point before = Clock::now();
  try {
    while (!over_.load(std::memory_order_acquire)) {
      const bool must_rest = self > 0 && paused_.load(std::memory_order_acquire);
      EngineNode* node = must_rest ? nullptr : schedule_.next(own.number);
      if (node == nullptr) {
        node = wait(self);
        before = Clock::now();
      }
      if (node != nullptr) {
        schedule_.work(*node, own.number, tell_other);
        const Clock::time_point now = Clock::now();
        schedule_.add_work(*node, std::chrono::duration<double, std::nano>(now - before).count());
        before = now;
      }
      if (self == 0) look_at_the_time();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = std::current_exception();
    end();
  }
}

/// The leader's.
void Team::look_at_the_time() {
  const Clock::time_point now = Clock::now();
  bool stopped = false;
  if (now - asked_ >= kBetweenQuestions) {
    asked_ = now;
    stopped = !(*go_on_)(schedule_.last_step());
  }
  const bool uncalled = std::exchange(uncalled_, false);
  if (!stopped && !uncalled && !round_is_over(now)) return;
  std::unique_lock lock(mutex_);
  if (stopped) {
    end();
  } else if (round_is_over(now) || !others_work()) {
    deal_anew(lock);
  }
}

/// A leader that works alone has no reason to deal nodes out before others come.
bool Team::round_is_over(Clock::time_point now) const {
  const size_t newcomers = newcomers_;
  const bool all_here = dealt_.size() + newcomers == workers_.size();
  if (newcomers > 0 && (all_here || now - begin_ >= kJoining)) return true;
  return dealt_.size() > 1 && now - begin_ >= round_;
}

/// Until there may be something to do. May return a node to be worked.
EngineNode* Team::wait(size_t self) {
  Worker& own = workers_[self];
  const int spins = may_spin_ && dealt_.size() > 1 ? kSpins : 0;
  for (int i = 0; i < spins && !own.news.load(std::memory_order_relaxed); ++i) {
    if (paused_.load(std::memory_order_relaxed)) break;
    pause();
  }
  std::unique_lock lock(mutex_);
  if (over_) return nullptr;
  if (paused_ || !own.news) {
    own.state = State::resting;
    if (paused_) {
      workers_[0].changed.notify_one();
    } else if (all_rest()) {
      force_one();
    }
    sleep(lock, self);
  }
  own.news = false;
  return std::exchange(own.forced, nullptr);
}

/// Until the worker is called to work, or the run is over. The leader wakes up now and then.
void Team::sleep(std::unique_lock<std::mutex>& lock, size_t self) {
  Worker& own = workers_[self];
  const auto woken = [&] { return over_ || own.state != State::resting; };
  if (self == 0) {
    uncalled_ = !own.changed.wait_for(lock, kPatience, woken);
    own.state = State::working;
    return;
  }
  while (true) {
    own.changed.wait(lock, woken);
    if (over_) return;
    if (own.state == State::called && !paused_) break;
    if (own.state == State::late) ++newcomers_;
    own.state = State::resting;
  }
  own.state = State::working;
}

/// If no thread has anything to do, the node with the fewest waiting tokens works. If there is
/// none, the graph has ended.
void Team::force_one() {
  EngineNode* least = schedule_.least_ahead();
  if (least == nullptr) return end();
  Worker& owner = workers_[dealt_[schedule_.owner_of(*least)]];
  owner.forced = least;
  call(owner);
}

void Team::tell(int number) {
  const std::lock_guard lock(mutex_);
  Worker& other = workers_[dealt_[number]];
  other.news = true;
  call(other);
}

void Team::call(Worker& worker) {
  if (worker.state != State::resting) return;
  worker.state = State::called;
  worker.changed.notify_one();
}

/// The others end their batches. One that rests need not wake up for this.
void Team::deal_anew(std::unique_lock<std::mutex>& lock) {
  paused_ = true;
  workers_[0].changed.wait(lock, [this] { return over_ || !others_work(); });
  if (!over_) deal();
  paused_ = false;
}

/// Deals the nodes to all workers but those that were called and have not come: the host does not
/// run these, so that nodes of theirs would wait.
void Team::deal() {
  const bool shared = dealt_.size() > 1;
  if (shared && !scatter_) round_ = std::min<Clock::duration>(2 * round_, kLongestRound);
  dealt_.clear();
  newcomers_ = 0;
  for (size_t w = 0; w < joined_; ++w) {
    Worker& worker = workers_[w];
    worker.forced = nullptr;
    worker.number = -1;
    if (worker.state == State::called) worker.state = State::late;
    if (worker.state == State::late) continue;
    worker.number = static_cast<int>(dealt_.size());
    worker.news = true;
    dealt_.push_back(w);
  }
  const Clock::time_point before = Clock::now();
  schedule_.divide(static_cast<int>(dealt_.size()), scatter_);
  for (const size_t w : dealt_) call(workers_[w]);
  begin_ = Clock::now();
  // Of thousands of nodes it may take longer than a round would.
  if (!scatter_) round_ = std::max<Clock::duration>(round_, kDividingShare * (begin_ - before));
}

bool Team::others_work() const {
  return std::any_of(workers_.begin() + 1, workers_.end(),
                     [](const Worker& worker) { return worker.state == State::working; });
}

bool Team::all_rest() const {
  return std::all_of(dealt_.begin(), dealt_.end(),
                     [this](size_t w) { return workers_[w].state == State::resting; });
}

void Team::end() {
  over_ = true;
  for (Worker& worker : workers_) worker.changed.notify_one();
}

}  // namespace fuseflow::engine
