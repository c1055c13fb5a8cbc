// Host threads, of one computation or of several.
#pragma once

#include <functional>

namespace fuseflow {

/// Calls `work` on the calling thread and on up to `count` - 1 others, and returns when all calls
/// have. Fewer may be called than asked for, and later than the caller's own call returns: `work`
/// must be able to do everything alone, and nothing when everything is done. It must not throw.
void on_threads(int count, const std::function<void()>& work);

/// How many threads can run side by side: the processors that the host lets this process use.
int processors();

}  // namespace fuseflow
