// A cluster of cores on the CPU. Each core has two threads, its producer and all that multiply;
// they take turns with the copies that are under way in an order that a seed chooses. What must
// happen before what is followed by vector clocks, so that a missing wait is found in whatever
// order things happen to run.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace ff {

constexpr int kMostBarriers = 96;  ///< of a core

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "fault: %s\n", what.c_str());
  std::exit(2);
}

/// For each actor (threads, then barriers) what of it has been seen.
struct Clock {
  std::vector<uint32_t> seen;
  void join(const Clock& other) {
    for (size_t i = 0; i < seen.size(); ++i)
      seen[i] = seen[i] < other.seen[i] ? other.seen[i] : seen[i];
  }
};

/// Something an actor did at a time of its own. Actor -1: nothing.
struct Event {
  int actor = -1;
  uint32_t time = 0;
};
inline bool known(const Event& event, const Clock& clock) {
  return event.actor < 0 || clock.seen[static_cast<size_t>(event.actor)] >= event.time;
}

/// 16 bytes of a scratchpad.
struct Granule {
  Event written;
  std::vector<Event> reads;
  int arriving = 0;    ///< copies to it that are under way
  int being_read = 0;  ///< products and copies that read it and have not been waited for
  bool defined = false;
  bool unfenced = false;  ///< written by threads; neither the copy engine nor products see it yet
  bool unseen = false;    ///< written by threads; other threads do not see it yet
  bool unmet = false;     ///< written by threads, which have not met since they fenced it
  bool unread = false;    ///< read by threads or products since all threads met
};

struct Barrier {
  int count = 0, left = 0;
  long bytes = 0;
  unsigned phase = 0;
  bool begun = false;
  Event begin;
  Clock gathered, released;
};

struct Counts {
  long loaded = 0, sent = 0, stored = 0, added = 0;  ///< bytes
  long taken = 0;     ///< .. of sums that the last adders read, and cleared
  long gathered = 0;  ///< .. of tiles that producers' threads bring
};

/// Granules of a core that its producer, or those that multiply, marked.
struct Marks {
  std::vector<int> unfenced, unseen, unread;
};

/// What a core of the cluster has.
struct CoreState {
  std::vector<unsigned char> scratchpad;
  std::vector<Granule> granules;
  std::vector<Barrier> barriers;
  Marks marks[2];   ///< of those that multiply, of the producer
  int adds = 0;     ///< additions to memory under way
  Clock touched;    ///< what others did to it
  int running = 2;  ///< threads
};

/// A copy or a product that has been asked for, and may happen at any time.
struct Pending {
  int owner;  ///< the thread that asked
  int kind;   ///< what it waits for: 0 a copy, 1 a product, 2 an addition to memory
  std::function<void()> happen;
};

class ClusterState {
 public:
  ClusterState(int number, int cores, int scratchpad, unsigned seed, Counts& counts)
      : number(number), counts(counts), random(seed), cores_(static_cast<size_t>(cores)) {
    const size_t actors = static_cast<size_t>(cores) * (2 + kMostBarriers);
    none_.seen.assign(actors, 0);
    for (CoreState& core : cores_) {
      core.scratchpad.assign(static_cast<size_t>(scratchpad), 0x7e);  // NaN as f16
      core.granules.resize(static_cast<size_t>(scratchpad + 15) / 16);
      core.barriers.resize(kMostBarriers);
      core.touched = none_;
    }
  }

  int number;
  Counts& counts;
  std::mt19937 random;

  int cores() const { return static_cast<int>(cores_.size()); }
  CoreState& core(int rank) { return cores_[static_cast<size_t>(rank)]; }
  Clock& clock() { return threads_[static_cast<size_t>(now_)].clock; }
  int now() const { return now_; }
  Event event() { return {now_, clock().seen[static_cast<size_t>(now_)]}; }
  int barrier_actor(int rank, int barrier) const {
    return 2 * cores() + rank * kMostBarriers + barrier;
  }
  const Clock& no_clock() const { return none_; }

  /// Thread 2 r produces for core r, thread 2 r + 1 multiplies.
  void run(const std::function<void(int thread)>& body) {
    body_ = &body;
    threads_.resize(cores_.size() * 2);
    for (size_t t = 0; t < threads_.size(); ++t) {
      Thread& thread = threads_[t];
      thread.clock = none_;
      thread.clock.seen[t] = 1;
      thread.stack.resize(1 << 18);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = &scheduler_;
      const auto self = reinterpret_cast<uintptr_t>(this);
      makecontext(&thread.context, reinterpret_cast<void (*)()>(&ClusterState::entry), 3,
                  static_cast<unsigned>(self), static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(t));
    }
    while (step()) {
    }
  }

  /// Waits until something holds; others go on meanwhile.
  void wait(const std::function<bool()>& holds, const char* what) {
    Thread& thread = threads_[static_cast<size_t>(now_)];
    thread.holds = holds;
    thread.waits_for = what;
    swapcontext(&thread.context, &scheduler_);
    thread.holds = nullptr;
  }
  /// A place at which others may go on.
  void pass() {
    wait([] { return true; }, "");
  }

  void ask(int kind, std::function<void()> happen) {
    pending_.push_back({now_, kind, std::move(happen)});
  }
  /// Lets everything of this kind happen that the current thread asked for.
  void finish(int kind) {
    for (size_t i = 0; i < pending_.size();) {
      if (pending_[i].owner == now_ && pending_[i].kind == kind) {
        take(i);
      } else {
        ++i;
      }
    }
  }

  /// All threads of all cores meet.
  void meet() {
    const unsigned round = round_;
    if (++met_ == 1) meeting_ = none_;
    meeting_.join(clock());
    ++clock().seen[static_cast<size_t>(now_)];
    if (met_ == static_cast<int>(threads_.size())) {
      met_ = 0;
      ++round_;
      last_meeting_ = meeting_;
    } else {
      wait([this, round] { return round_ != round; }, "the cluster's barrier");
    }
    clock().join(last_meeting_);
  }

 private:
  struct Thread {
    ucontext_t context{};
    std::vector<char> stack;
    Clock clock;
    std::function<bool()> holds;
    const char* waits_for = "";
    bool done = false;
  };

  static void entry(unsigned low, unsigned high, unsigned thread) {
    auto* self = reinterpret_cast<ClusterState*>(static_cast<uintptr_t>(low) |
                                                 static_cast<uintptr_t>(high) << 32);
    (*self->body_)(static_cast<int>(thread));
    self->end(static_cast<int>(thread));
  }

  /// A thread has ended; with the last one of a core goes its scratchpad.
  void end(int thread) {
    threads_[static_cast<size_t>(thread)].done = true;
    CoreState& core = cores_[static_cast<size_t>(thread / 2)];
    if (--core.running > 0) return;
    for (size_t a = 0; a < core.touched.seen.size(); ++a) {
      if (core.touched.seen[a] > clock().seen[a])
        fail("a core ends before what its peers do to it");
    }
  }

  void take(size_t i) {
    const std::function<void()> happen = std::move(pending_[i].happen);
    pending_.erase(pending_.begin() + static_cast<long>(i));
    happen();
  }

  /// One thread goes on to its next wait, or one copy or product happens.
  bool step() {
    std::vector<size_t> ready;
    bool alive = false;
    for (size_t t = 0; t < threads_.size(); ++t) {
      if (threads_[t].done) continue;
      alive = true;
      if (!threads_[t].holds || threads_[t].holds()) ready.push_back(t);
    }
    if (ready.empty() && pending_.empty()) {
      if (!alive) return false;
      std::string all;
      for (size_t t = 0; t < threads_.size(); ++t) {
        if (threads_[t].done) continue;
        all += "; core " + std::to_string(t / 2) + (t % 2 == 0 ? " producer: " : " multipliers: ") +
               threads_[t].waits_for;
      }
      fail("nobody can go on" + all);
    }
    const size_t chosen = random() % (ready.size() + pending_.size());
    if (chosen >= ready.size()) {
      now_ = pending_[chosen - ready.size()].owner;
      take(chosen - ready.size());
      return true;
    }
    now_ = static_cast<int>(ready[chosen]);
    swapcontext(&scheduler_, &threads_[ready[chosen]].context);
    return true;
  }

  std::vector<CoreState> cores_;
  std::vector<Thread> threads_;
  std::vector<Pending> pending_;
  Clock none_, meeting_, last_meeting_;
  const std::function<void(int)>* body_ = nullptr;
  ucontext_t scheduler_{};
  int now_ = 0, met_ = 0;
  unsigned round_ = 0;
};

}  // namespace ff
