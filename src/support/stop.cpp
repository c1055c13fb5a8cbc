#include "support/stop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "support/error.h"
#include "support/interrupt.h"

namespace fuseflow {
namespace {

using Clock = std::chrono::steady_clock;

struct Limits {
  std::optional<Clock::time_point> end;
  uint64_t max_bytes = UINT64_MAX;
};

Limits limits;
std::atomic<bool> in_scope = false;  // set after the limits, which do not change while it is

[[noreturn]] void stop(const char* why) {
  throw Error(ExitCode::unfinished, std::string("the data were not loaded: ") + why);
}

}  // namespace

StopScope::StopScope(double max_seconds, int64_t max_bytes) {
  limits = {};
  if (max_seconds > 0) {
    // No further than a clock can count.
    constexpr double kMost = 1e9;
    const std::chrono::duration<double> seconds(std::min(max_seconds, kMost));
    limits.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
  }
  if (max_bytes > 0) limits.max_bytes = static_cast<uint64_t>(max_bytes);
  in_scope = true;
}

StopScope::~StopScope() {
  in_scope = false;
}

void stop_if_asked() {
  if (!in_scope.load(std::memory_order_acquire)) return;
  if (interrupted()) stop("interrupted");
  if (limits.end && Clock::now() > *limits.end) stop("the limit of --max-seconds was reached");
}

void stop_if_larger(uint64_t bytes) {
  if (!in_scope.load(std::memory_order_acquire)) return;
  if (bytes > limits.max_bytes) stop("the limit of --max-memory was reached");
}

}  // namespace fuseflow
