// Host threads, of one computation or of several.
#pragma once

#include <functional>

namespace fuseflow {

/// Calls `work` on the calling thread and on up to `count` - 1 others, and returns when all calls
/// have. Fewer may be called than asked for, and later than the caller's own call returns: `work`
/// must be able to do everything alone, and nothing when everything is done. It must not throw.
void on_threads(int count, const std::function<void()>& work);

/// Before work that uses up to `count` threads, the calling one included, if not by on_threads():
/// finds out whether the host lets this process start so many. If not (`ulimit -u`), oneTBB, which
/// would end the process, is told to use fewer from now on.
void allow_threads(int count);

/// The same for as many as oneTBB would use now.
void allow_threads();

/// How many threads can run side by side: the processors that the host lets this process use.
int processors();

}  // namespace fuseflow
