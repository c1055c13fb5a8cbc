#include "support/stop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "support/interrupt.h"

namespace fuseflow {
namespace {

using Clock = std::chrono::steady_clock;

struct Limits {
  std::optional<Clock::time_point> end;
  uint64_t max_bytes = UINT64_MAX;
  const char* lost = "";
};

Limits limits;
std::atomic<bool> in_scope = false;  // set after the limits, which do not change while it is

[[noreturn]] void stop(Stopped::Why reason, const char* why) {
  throw Stopped(reason, std::string(limits.lost) + ": " + why);
}

}  // namespace

StopScope::StopScope(const char* lost, double max_seconds, int64_t max_bytes) {
  limits = {};
  limits.lost = lost;
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

int64_t limit_in_bytes(double mebibytes) {
  if (mebibytes <= 0) return 0;
  return static_cast<int64_t>(std::clamp(mebibytes * 1048576.0, 1.0, 0x1p62));
}

bool may_be_stopped() {
  return in_scope.load(std::memory_order_acquire);
}

void stop_if_asked() {
  if (!in_scope.load(std::memory_order_acquire)) return;
  if (interrupted()) stop(Stopped::Why::interrupted, "interrupted");
  if (limits.end && Clock::now() > *limits.end) {
    stop(Stopped::Why::seconds, "the limit of --max-seconds was reached");
  }
}

void stop_if_larger(uint64_t bytes) {
  if (!in_scope.load(std::memory_order_acquire)) return;
  if (bytes > limits.max_bytes) {
    stop(Stopped::Why::bytes, "the limit of --max-memory was reached");
  }
}

}  // namespace fuseflow
