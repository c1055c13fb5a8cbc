#include "support/on_threads.h"

// The thread sanitizer does not see what a TBB that was built without it synchronises: it gets
// plain threads, which run the same code.
#include <algorithm>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#ifndef __SANITIZE_THREAD__
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace fuseflow {

#ifdef __SANITIZE_THREAD__

void on_threads(int count, const std::function<void()>& work) {
  std::vector<std::thread> helpers;
  try {
    for (int t = 1; t < count; ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads: fewer do the same
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

int allowed_threads(int count) {
  return count;
}

int allowed_threads() {
  return processors();
}

int processors() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

#else

namespace {

/// How many of `count` threads can be there at a time, beside the calling one.
int startable(int count) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::vector<std::thread> started;
  try {
    for (int t = 0; t < count; ++t) {
      started.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return over; });
      });
    }
  } catch (const std::system_error&) {  // that is what is asked here
  }
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  changed.notify_all();
  for (std::thread& thread : started) thread.join();
  return static_cast<int>(started.size());
}

}  // namespace

int allowed_threads(int count) {
  static std::mutex mutex;
  static int tried = 1;
  static int most = INT_MAX;
  const std::lock_guard lock(mutex);
  if (count > tried && most == INT_MAX) {
    tried = count;
    const int others = startable(count - 1);
    if (others < count - 1) {
      most = std::max(1, others);  // one less: of those that have just ended, one may still count
      // Never destroyed: it holds until the process ends.
      static const auto* const limit = new tbb::global_control(
          tbb::global_control::max_allowed_parallelism, static_cast<size_t>(most));
      static_cast<void>(limit);
    }
  }
  return std::min(count, most);
}

int allowed_threads() {
  using tbb::global_control;
  return allowed_threads(
      static_cast<int>(global_control::active_value(global_control::max_allowed_parallelism)));
}

void on_threads(int count, const std::function<void()>& work) {
  count = allowed_threads(count);
  if (count <= 1) return work();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(count));
  tbb::task_arena arena(count);
  arena.execute([&] {
    tbb::task_group helpers;
    for (int t = 1; t < count; ++t) helpers.run(work);
    work();
    helpers.wait();
  });
}

int processors() {
  return tbb::info::default_concurrency();
}

#endif

}  // namespace fuseflow
