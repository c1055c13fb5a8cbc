// Loops whose iterations run side by side. The one place that calls oneTBB's parallel_for.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#else
#include <tbb/parallel_for.h>

#include "support/on_threads.h"
#endif

namespace fuseflow {

/// body(i) for each i from `first` to before `last`, on the threads of the current arena. Throws
/// what one of them throws.
///
/// Under the thread sanitizer on two threads of its own: Debian's oneTBB is not built with it, so
/// that it would take each task that is handed over for a race.
template <typename Index, typename Body>
void parallel_for(Index first, Index last, const Body& body) {
#if defined(__SANITIZE_THREAD__)
  std::atomic<Index> next = first;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      for (Index i = next++; i < last; i = next++) body(i);
    } catch (...) {
      next = last;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::thread other(work);
  work();
  other.join();
  if (thrown) std::rethrow_exception(thrown);
#else
  if (allowed_threads() == 1) {
    for (Index i = first; i < last; ++i) body(i);
  } else {
    tbb::parallel_for(first, last, body);
  }
#endif
}

}  // namespace fuseflow
