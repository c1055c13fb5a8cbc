// Host threads, of one computation or of several.
#pragma once

#include <functional>

namespace fuseflow {

/// Calls `work` on the calling thread and on up to `count` - 1 others, and returns when all calls
/// have. Fewer may be called than asked for, and later than the caller's own call returns: `work`
/// must be able to do everything alone, and nothing when everything is done. It must not throw.
void on_threads(int count, const std::function<void()>& work);

/// How many of `count` threads, the calling one included, the host lets this process have. If these
/// are fewer (`ulimit -u`), oneTBB, which would end the process, starts no more from now on. For
/// code that uses oneTBB otherwise than by on_threads().
int allowed_threads(int count);

/// allowed_threads() of as many threads as oneTBB would use now.
int allowed_threads();

/// How many threads can run side by side: the processors that the host lets this process use.
int processors();

}  // namespace fuseflow
