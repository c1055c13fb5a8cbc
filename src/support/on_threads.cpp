#include "support/on_threads.h"

// The thread sanitizer does not see what a TBB that was built without it synchronises: it gets
// plain threads, which run the same code.
#ifdef __SANITIZE_THREAD__
#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>
#else
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

int processors() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

#else

void on_threads(int count, const std::function<void()>& work) {
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
