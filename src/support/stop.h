// When long work that has nothing to show before its end, such as loading data, is given up.
#pragma once

#include <cstdint>

namespace fuseflow {

/// While one lives, stop_if_asked() and stop_if_larger() look at these limits and at
/// interrupted(). One at a time, of a tool's main thread.
class StopScope {
 public:
  /// `max_seconds` from now on, `max_bytes` for one array; 0: any.
  StopScope(double max_seconds, int64_t max_bytes);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
};

/// Throws Error(unfinished), which says why, if the work is to end; nothing outside a scope. Takes
/// about as long as reading a clock: for every some ten thousand steps of a loop, on any thread.
void stop_if_asked();

/// The same if `bytes` are more than the scope allows for one array.
void stop_if_larger(uint64_t bytes);

}  // namespace fuseflow
