// The two ends of time.
#pragma once

#include <cstdint>

namespace fuseflow {

/// Before every time, also after some latencies were added to it.
inline constexpr int64_t kLongAgo = INT64_MIN / 4;
/// After every time. Nothing may be added to it.
inline constexpr int64_t kNever = INT64_MAX;

}  // namespace fuseflow
